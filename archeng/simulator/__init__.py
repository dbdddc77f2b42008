"""What stands between the optimiser and the engineer's simulator."""

from archeng.simulator.answer import Evaluation
from archeng.simulator.call import (
    Call,
    CallStatus,
    EndOfRunError,
    Simulator,
    call,
    check_simulator,
    checked,
    told,
)
from archeng.simulator.command import CommandSimulator
from archeng.simulator.design import Design
from archeng.simulator.evaluate import Evaluator, make_pool, process_count
from archeng.simulator.gate import Gate
from archeng.simulator.on_model import OnPyomoModel
from archeng.simulator.policy import FailurePolicy, OnFailure, retry_counts
from archeng.simulator.processes import Workers
from archeng.simulator.readers import read_json, read_regex

__all__ = [
    "Call",
    "CallStatus",
    "CommandSimulator",
    "Design",
    "EndOfRunError",
    "Evaluation",
    "Evaluator",
    "FailurePolicy",
    "Gate",
    "OnFailure",
    "OnPyomoModel",
    "Simulator",
    "Workers",
    "call",
    "check_simulator",
    "checked",
    "make_pool",
    "process_count",
    "read_json",
    "read_regex",
    "retry_counts",
    "told",
]
