"""CircleCI's tasks and KubeVirt's VMs for the pools of a cluster, and the Secrets that both need."""

import asyncio
import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping

from remuda.errors import BadInput, RemudaError, Unavailable
from remuda.kube.proxies import proxy_around
from remuda.kube.secrets import NoSecret, Secrets
from remuda.model.plans import Reason
from remuda.output.words import number
from remuda.pools.codes import UNKNOWN
from remuda.pools.decide.model import Policy
from remuda.pools.policy import PoolSetup
from remuda.pools.ports import Backend
from remuda.providers.kubevirt.guest.masking import masked
from remuda.providers.kubevirt.guest.userdata import user_data
from remuda.providers.kubevirt.provider import KubevirtProvider
from remuda.providers.kubevirt.settings import read_settings, resolve
from remuda.runtime import Services
from remuda.sources.circleci.accounts import Account, Accounts
from remuda.sources.circleci.client import Client as CircleClient
from remuda.sources.circleci.meters import CircleMeters
from remuda.sources.circleci.pace import Host
from remuda.sources.circleci.source import CircleCI

TOKEN = "CIRCLE_TOKEN"  # noqa: S105 - the name of a variable


class CircleciOnKubevirt(Backend):
    """One source and one provider over all accounts and VMs that pools name, and the Secrets both need."""

    def __init__(self, services: Services) -> None:
        assert services.cluster is not None
        cluster = services.cluster
        self._clock = services.clock
        self._rng = services.rng
        self._log = services.log
        self._wake = services.wake
        self._is_dry_run = services.is_dry_run
        self._meters = CircleMeters(services.registry)
        self._setups: tuple[PoolSetup, ...] = ()
        #: pools that are gone while some of their VMs are not: who of those works must still be known
        self._past: dict[str, PoolSetup] = {}
        #: by class, the last poll that was logged
        self._polls: dict[str, tuple[int, int, int]] = {}
        self.secrets = Secrets(
            cluster.reader, cluster.namespace, services.clock, services.rng, self._made_otherwise
        )
        self.tasks = Accounts(self._open)
        self.vms = KubevirtProvider(
            cluster.reader,
            cluster.writer,
            cluster.namespace,
            self.secrets,
            services.clock,
            services.rng,
            services.log,
            self._vms_changed,
            fault_point=services.fault_point,
        )
        self.vms.refingerprint = self._made_otherwise
        self.sources = {"circleci": self.tasks}
        self.providers = {"kubevirt": self.vms}
        self.partners = {"kubevirt": "circleci"}

    def _made_otherwise(self) -> None:
        self.changed()

    def fingerprint(self, setup: PoolSetup) -> str:
        """What Secrets add to a pool's template, as a short text."""
        return self.vms.fingerprint(setup) if setup.provider == "kubevirt" else ""

    def serve(self, setups: Collection[PoolSetup]) -> None:
        """The pools there are now; those of others are of no concern."""
        known = {**self._past, **{setup.name: setup for setup in self._setups}}
        self._setups = tuple(setups)
        names = {setup.name for setup in self._setups}
        self._past = {
            name: setup for name, setup in known.items() if name not in names and self.vms.has(name)
        }
        accounts = {
            setup.name: (_account(setup), setup.job_class)
            for setup in (*self._past.values(), *self._setups)
            if setup.source == "circleci"
        }
        vms = [setup for setup in self._setups if setup.provider == "kubevirt"]
        secrets = {account.secret for account, _ in accounts.values() if account.secret}
        self.secrets.keep(secrets.union(*(read_settings(setup.settings).secrets for setup in vms)))
        self.vms.follow(vms)
        # Who has no token yet, but is about to have one, is not asked in vain.
        self.tasks.serve(
            {
                pool: (account, job_class)
                for pool, (account, job_class) in accounts.items()
                if not account.secret or self.secrets.is_tried(account.secret)
            }
        )

    def _vms_changed(self) -> None:
        """The class of a pool that is gone is asked about as long as the pool has VMs."""
        if not all(map(self.vms.has, self._past)):
            self.serve(self._setups)
        self._wake()

    def user_data(self, setup: PoolSetup) -> str | None:
        """What new VMs of a pool are given at boot, without secrets."""
        if setup.provider != "kubevirt":
            return None
        make = resolve(setup.settings, setup.idle_timeout, self.secrets)
        return masked(user_data(make.guest), [make.guest.token])

    def problems(self) -> dict[str, str]:
        """By pool, what keeps it from getting VMs or knowing its tasks, that a person must fix."""
        found = {}
        for setup in self._setups:
            errors = list[BadInput]()
            try:
                if setup.source == "circleci":
                    self._token(_account(setup))
            except BadInput as error:
                errors.append(error)
            except Unavailable:
                pass
            try:
                if setup.provider == "kubevirt":
                    resolve(setup.settings, setup.idle_timeout, self.secrets)
            except BadInput as error:
                errors.append(error)
            except Unavailable:
                pass
            if errors:
                found[setup.name] = "; ".join(dict.fromkeys(map(str, _joined(errors))))
        return found

    def silent(self) -> Mapping[str, str]:
        """By class, why CircleCI gives no good answer."""
        return self.tasks.refusals()

    def decided(self, reasons: tuple[Reason, ...], policy: Policy) -> None:
        """For pools that took over from Runner Provisioner, log each poll the way it does."""
        heard_at = self.tasks.heard_at()
        for reason in reasons:
            pool = policy.pools.get(reason.subject.removeprefix("pool/"))
            if pool is None or not pool.natural or pool.job_class not in heard_at:
                continue
            if reason.code in UNKNOWN and pool.job_class not in self._polls:
                continue  # how many it wants is not known yet
            unclaimed, running = number(reason.terms, "unclaimed"), number(reason.terms, "running")
            poll = (heard_at[pool.job_class], unclaimed, running)
            if self._polls.get(pool.job_class) != poll:
                self._polls[pool.job_class] = poll
                self._log.info(
                    "scaled",
                    loop_name="scaler",
                    resource_class=pool.job_class,
                    unclaimed_tasks=unclaimed,
                    running_tasks=running,
                    desired_vms=number(reason.terms, "target"),
                )

    def trouble(self) -> list[str]:
        """What does not answer, while pools need it."""
        if not self._setups:
            return []
        vms = self.vms.trouble() if any(setup.provider == "kubevirt" for setup in self._setups) else []
        return [*(f"{name}: {message}" for name, message in sorted(self.tasks.trouble().items())), *vms]

    async def run(self) -> None:
        """Follow Secrets, VMs and tasks until cancelled; a dry run follows them only where a pool needs them."""
        if self._is_dry_run and not self._is_needed():
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self.secrets.run(), name="secrets")
            group.create_task(self.vms.run(), name="vms")
            group.create_task(self.tasks.run(), name="circleci")

    async def settle(self) -> None:
        """Wait until VMs and tasks are known, or cannot be."""
        if not self._is_needed():
            return
        while True:
            try:
                await self.vms.list()
            except Unavailable:
                await asyncio.sleep(0.05)
            else:
                break
        with contextlib.suppress(RemudaError):
            await self.tasks.refresh()

    def _is_needed(self) -> bool:
        return any(setup.source == "circleci" for setup in self._setups)

    def _open(self, account: Account, host: Host) -> CircleCI:
        proxy = proxy_around(os.environ, account.url)
        api = CircleClient(account.url, lambda: self._token(account), self._clock, proxy=proxy)
        return CircleCI(api, self._clock, self._rng, self._log, self._wake, self._meters, host)

    def _token(self, account: Account) -> str:
        if account.secret:
            return self.secrets.value(account.secret, account.key)
        token = os.environ.get(TOKEN, "").strip()
        if not token:
            raise BadInput(
                f"there is no CircleCI token: name a Secret in source.circleci.token, or set {TOKEN}"
            )
        return token


def _joined(errors: Iterable[BadInput]) -> Iterator[BadInput]:
    """The same, with one error for each Secret that is not there."""
    keys = dict[tuple[str, str], dict[str, None]]()
    for error in errors:
        if isinstance(error, NoSecret):
            keys.setdefault((error.namespace, error.name), {}).update(dict.fromkeys(error.keys))
        else:
            yield error
    for (namespace, name), missing in keys.items():
        yield NoSecret(namespace, name, tuple(missing))


def _account(setup: PoolSetup) -> Account:
    words = setup.source_settings
    token = words.get("token", {})
    return Account(words["url"], token.get("secret", ""), token.get("key", ""))
