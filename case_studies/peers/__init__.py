"""archeng beside what users would pick instead: calls to target, one command.

``python -m case_studies.peers --help``
"""
