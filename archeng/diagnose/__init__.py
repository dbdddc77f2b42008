"""Pre-flight diagnosis of the explicit constraints, without a simulation.

`examine.py` brings the parts together: `system.py` (a model as limits that can be dropped one by
one), `oracle.py` (can these limits hold together?) with `linear.py`, `intervals.py`, `contract.py`
and `elastic.py` behind it, `conflict.py` and `relaxation.py` for infeasible models, `structure.py`,
`redundancy.py`, `scaling.py` and `regions.py` for all.
"""

from archeng.diagnose.diagnosis import Change, Conflict, Diagnosis, Finding, Member, Region, Share
from archeng.diagnose.examine import diagnose

__all__ = [
    "Change",
    "Conflict",
    "Diagnosis",
    "Finding",
    "Member",
    "Region",
    "Share",
    "diagnose",
]
