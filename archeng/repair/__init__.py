"""The repair operator: a feasible set, a metric, and a certificate for every answer."""

from archeng.distribution import Distribution
from archeng.model import FeasibleSet
from archeng.repair.certificate import Repair, RepairKind
from archeng.repair.ladder import NearbyPoint, Repairer
from archeng.repair.mixed import MixedRepairer
from archeng.settings import Settings

__all__ = ["MixedRepairer", "NearbyPoint", "Repair", "RepairKind", "Repairer", "make_repairer"]


def make_repairer(
    feasible_set: FeasibleSet,
    settings: Settings | None = None,
    around: Distribution | None = None,
) -> Repairer:
    """Return the repairer of a set, with or without discrete coordinates."""
    kind = Repairer if feasible_set.lattice is None else MixedRepairer
    return kind(feasible_set, settings, around)
