"""The repair operator: a feasible set, a metric, and a certificate for every answer."""

from archeng.repair.ladder import Near, Repairer
from archeng.repair.record import Repair, RepairKind

__all__ = ["Near", "Repair", "RepairKind", "Repairer"]
