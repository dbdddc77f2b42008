"""The experiments of Sakamoto and Akimoto (2022) [SA22]: ``python -m case_studies.paper --help``.

:mod:`case_studies.paper.harness` runs them and says what an experiment consists of;
:mod:`case_studies.paper.experiments` lists them.
"""
