"""Headlines of incidents: one sentence from the facts that models give.

Owns words, plurals, and how many of several names are shown; models decide which facts a headline tells. Rows hold these
sentences, so this package decides rows. `unattributed_troubles` words what befell clients whose group no line names.
Imports `models` and `dashboards.wording.durations`. Start with `headlines`.
"""
