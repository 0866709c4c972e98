"""The states of machines as small numbers, in the order of the wire contract; 0 is a row that holds no machine."""

from remuda.model.machines import State

ABSENT = 0
SPECULATIVE, CREATING, IDLE, CONFIGURING, CONFIGURED, DRAINING, DELETING, FAILED = range(1, 9)

NUMBERS: dict[State, int] = {
    State.SPECULATIVE: SPECULATIVE,
    State.CREATING: CREATING,
    State.IDLE: IDLE,
    State.CONFIGURING: CONFIGURING,
    State.CONFIGURED: CONFIGURED,
    State.DRAINING: DRAINING,
    State.DELETING: DELETING,
    State.FAILED: FAILED,
}
STATES: tuple[State | None, ...] = (None, *NUMBERS)
COUNT = 9
