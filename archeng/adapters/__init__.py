"""Where archeng meets other packages, one module for each of them.

``minimize`` speaks SciPy; ``openmdao``, ``optuna`` and ``pycma`` import the package of their name,
which is an optional extra, and are imported by the user only.
"""
