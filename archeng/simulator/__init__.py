"""What stands between the optimiser and the engineer's simulator."""

from archeng.simulator.answer import Evaluation
from archeng.simulator.asked import Asked, gradient_rows, output_vector
from archeng.simulator.call import (
    Call,
    CallStatus,
    EndOfRunError,
    Simulator,
    call,
    check_simulator,
    told,
)
from archeng.simulator.command import CommandSimulator
from archeng.simulator.design import Design, Gate, OnPyomoModel
from archeng.simulator.evaluate import (
    Evaluator,
    FailurePolicy,
    OnFailure,
    check_workers,
    declared_width,
    make_pool,
    retry_counts,
)
from archeng.simulator.graded import Graded
from archeng.simulator.processes import Workers, process_count
from archeng.simulator.readers import read_json, read_regex

__all__ = [
    "Asked",
    "Call",
    "CallStatus",
    "CommandSimulator",
    "Design",
    "EndOfRunError",
    "Evaluation",
    "Evaluator",
    "FailurePolicy",
    "Gate",
    "Graded",
    "OnFailure",
    "OnPyomoModel",
    "Simulator",
    "Workers",
    "call",
    "check_simulator",
    "check_workers",
    "declared_width",
    "gradient_rows",
    "make_pool",
    "output_vector",
    "process_count",
    "read_json",
    "read_regex",
    "retry_counts",
    "told",
]
