"""The repair operator: a feasible set, a metric, and a certificate for every answer."""

from archeng.repair.ladder import Repairer
from archeng.repair.record import Repair, RepairKind

__all__ = ["Repair", "RepairKind", "Repairer"]
