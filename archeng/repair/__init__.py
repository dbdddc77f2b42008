"""The repair operator: a feasible set, a metric, and a certificate for every answer."""

from archeng.repair.certificate import Repair, RepairKind
from archeng.repair.ladder import NearbyPoint, Repairer

__all__ = ["NearbyPoint", "Repair", "RepairKind", "Repairer"]
