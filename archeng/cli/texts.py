"""What ``--help`` teaches: examples for each command, and the exit codes."""

from __future__ import annotations

EXIT_CODES = """\
exit codes:
  0    done
  1    done, but the answer is no: no feasible design (check), or no design that
       satisfies all constraints (run, resume)
  2    not done: wrong arguments, a wrong study, model or journal, a simulator that
       cannot be used; standard error says why
  130  stopped by Ctrl-C; what was simulated is in the journal
"""

OVERVIEW = f"""\
a study in five commands:
  archeng new my_study     a folder with a model, a simulator and study.toml
  cd my_study
  archeng check            is the model well posed? no simulator is called
  archeng run              simulate; Ctrl-C, crashes and power cuts lose nothing
  archeng resume           go on where it stopped
  archeng report           one HTML file to hand to a colleague

Commands work on the study in the present folder; name another folder, a study.toml,
a Python file or a journal to work on that. `archeng COMMAND --help` has examples.

{EXIT_CODES}"""

EXAMPLES = {
    "new": """\
examples:
  archeng new --list                        what templates there are
  archeng new my_study                      model in CasADi, simulator in Python
  archeng new my_study --template command   an external program as the simulator
  archeng new my_study --directory studies  in another folder
""",
    "check": """\
examples:
  archeng check               the study in this folder
  archeng check --simulate    and one call of its simulator
  archeng check model.py      a Python file with a CasADi or Pyomo model
  archeng check plant.nl      a model written by AMPL, GAMS, JuMP or Pyomo
  archeng check --json | jq .conflicts
""",
    "run": """\
examples:
  archeng run                                the study in this folder
  archeng run --workers 4 --max-evaluations 500
  archeng run --force                        begin anew; the old journal is kept
  archeng run study.py --journal run.db      a single Python file instead of a folder
  archeng run --json --quiet | jq .objective
""",
    "resume": """\
examples:
  archeng resume                             the study in this folder
  archeng resume --max-evaluations 1000      and for longer
  archeng resume run.db study.py             a journal and a single Python file
""",
    "status": """\
examples:
  archeng status                             the study in this folder
  archeng status run.db
  archeng status --json | jq .best.objective
""",
    "report": """\
examples:
  archeng report                             the study in this folder: run.html
  archeng report run.db --output wing.html
  archeng report run.db --pdf                and a PDF
""",
    "dashboard": """\
examples:
  archeng dashboard                          the study in this folder, while it runs
  archeng dashboard run.db --port 8600 --no-browser
""",
    "export": """\
examples:
  archeng export --output calls.csv          every call of the study in this folder
  archeng export run.db --json --output calls.json
  archeng export | head                      CSV on standard output
""",
    "compare": """\
examples:
  archeng compare first/run.db second/run.db
  archeng compare first second third         folders of studies
  archeng compare first second --plot convergence.png
""",
    "explain": """\
examples:
  archeng explain                            all ids
  archeng explain ARCH-MODEL
""",
    "completion": """\
examples:
  archeng completion bash > ~/.local/share/bash-completion/completions/archeng
  archeng completion zsh >> ~/.zshrc         after the line with compinit
  archeng completion fish > ~/.config/fish/completions/archeng.fish
""",
}
