"""What stands between the optimiser and the engineer's simulator."""

from archeng.simulator.call import Call, CallStatus, Simulator, call, check_simulator
from archeng.simulator.design import Design
from archeng.simulator.gate import check_gate
from archeng.simulator.on_model import OnPyomoModel

__all__ = [
    "Call",
    "CallStatus",
    "Design",
    "OnPyomoModel",
    "Simulator",
    "call",
    "check_gate",
    "check_simulator",
]
