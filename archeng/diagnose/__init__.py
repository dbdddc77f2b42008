"""Pre-flight diagnosis of the explicit constraints, without a simulation.

Read `examine.py` first: the order of events. `limits.py` is a model as limits that can be dropped
one by one; `oracle.py` answers whether some of them can hold together, with proofs by `elastic.py`
(linear programs, IPOPT), `intervals.py` and `terms.py`; `conflict.py` reduces a conflict until it
is minimal, `explain.py` says it in the words of the engineer; `findings.py` and `designs.py` look
at rows, designs and regions; `diagnosis.py` is the result and its text. Equations: `equations.py`
has their pattern, `structure.py` what it says, `loops.py` what it says about a conflict, `rank.py`
which depend on others; `large.py` is the short way for thousands of rows. Discrete variables:
`discrete.py` goes on where the diagnosis of the model with real ones ends, `level_tree.py` answers
whether limits can hold together at levels, `integrality.py` names the conflict.
"""

from archeng.diagnose.diagnosis import Change, Conflict, Diagnosis, Finding, Member, Region, Share
from archeng.diagnose.equations import compiled_model
from archeng.diagnose.examine import diagnose
from archeng.diagnose.structure import Block, Mismatch, Structure

__all__ = [
    "Block",
    "Change",
    "Conflict",
    "Diagnosis",
    "Finding",
    "Member",
    "Mismatch",
    "Region",
    "Share",
    "Structure",
    "compiled_model",
    "diagnose",
]
