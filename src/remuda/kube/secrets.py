"""
Secrets followed by name: what objects refer to is read from there, and read again when it changes.

A value leaves this module only through `value`: no text, error or log line of it holds one.
"""

import asyncio
import hashlib
import random
from base64 import b64decode
from collections.abc import Callable, Iterable

import msgspec

from remuda.errors import BadInput, Unavailable
from remuda.kube.cache import Cache
from remuda.kube.client import Client
from remuda.kube.resources import SECRETS, KubeObject
from remuda.loop.clock import Clock


class _Secret(KubeObject, frozen=True, gc=False):
    """Its values are bytes that are never shown."""

    data: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"Secret {self.metadata.name}"


class NoSecret(BadInput):
    """There is no such Secret; the message has the command that makes it with the keys that are needed."""

    def __init__(self, namespace: str, name: str, keys: tuple[str, ...]) -> None:
        files = " ".join(f"--from-file={key}=FILE" for key in keys)
        super().__init__(
            f"there is no Secret {name} in namespace {namespace}: kubectl create secret generic {name} -n {namespace} {files}"
        )
        self.namespace, self.name, self.keys = namespace, name, keys


class Secrets:
    """The Secrets of one namespace that somebody asked for. `run` follows them until cancelled."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        clock: Clock,
        rng: random.Random,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._clock = clock
        self._rng = rng
        self._wake = wake
        self._caches: dict[str, Cache[_Secret]] = {}
        self._asked = asyncio.Event()

    def follow(self, secret: str) -> None:
        """Begin to follow a Secret; asking for a value does so too."""
        if secret not in self._caches:
            self._caches[secret] = Cache(
                self._client,
                SECRETS,
                _Secret,
                self._clock,
                self._rng,
                self._wake,
                namespace=self._namespace,
                fields=f"metadata.name={secret}",
            )
            self._asked.set()

    def keep(self, secrets: Iterable[str]) -> None:
        """Follow these and no others."""
        names = set(secrets)
        for name in names:
            self.follow(name)
        self._caches = {name: cache for name, cache in self._caches.items() if name in names}
        self._asked.set()

    def is_tried(self, secret: str) -> bool:
        """Whether the first attempt to read it is over; before that nobody knows whether it is there."""
        cache = self._caches.get(secret)
        return cache is not None and (cache.is_synced or cache.trouble is not None)

    def trouble(self) -> list[str]:
        """Why values may be old, if they may."""
        return [cache.trouble for _, cache in sorted(self._caches.items()) if cache.trouble is not None]

    def value(self, secret: str, key: str) -> str:
        """
        The text under a key, without the line end that files have.

        `BadInput` says what is missing and the command that makes it; `Unavailable` while it is not read yet.
        """
        self.follow(secret)
        cache = self._caches[secret]
        if not cache.is_synced:
            message = cache.trouble or "it was just asked for"
            raise Unavailable(f"Secret {self._namespace}/{secret} is not read yet: {message}")
        found = cache.get(secret, self._namespace)
        if found is None:
            raise NoSecret(self._namespace, secret, (key,))
        data = found.data or {}
        if key not in data:
            has = ", ".join(sorted(data)) or "none"
            raise BadInput(
                f"Secret {self._namespace}/{secret} has no key {key} (its keys: {has}): kubectl patch secret {secret} "
                f'-n {self._namespace} -p \'{{"stringData":{{"{key}":"VALUE"}}}}\''
            )
        try:
            text = b64decode(data[key], validate=True).decode().rstrip("\r\n")
        except ValueError:
            text = "\0"
        if not text or "\0" in text:
            what = "is empty" if not text else "is not text"
            raise BadInput(
                f"key {key} of Secret {self._namespace}/{secret} {what}: kubectl patch secret {secret} "
                f'-n {self._namespace} -p \'{{"stringData":{{"{key}":"VALUE"}}}}\''
            )
        return text

    def fingerprint(self, secret: str, key: str) -> str:
        """A short text that changes with the value and does not tell it. Raises as `value` does."""
        return digest(self.value(secret, key))

    async def run(self) -> None:
        """Follow whatever is asked for until cancelled."""
        running: dict[str, tuple[Cache[_Secret], asyncio.Task[None]]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                self._asked.clear()
                for name, (cache, task) in list(running.items()):
                    if self._caches.get(name) is not cache:
                        task.cancel()
                        del running[name]
                for name, cache in self._caches.items():
                    if name not in running:
                        running[name] = cache, group.create_task(cache.run(), name=f"secret {name}")
                await self._asked.wait()


def digest(value: object) -> str:
    """Short, stable over processes and key order."""
    return hashlib.blake2b(msgspec.json.encode(value, order="deterministic"), digest_size=5).hexdigest()
