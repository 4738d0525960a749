"""Pages, figures and sentences made from rows.

Knows neither files nor Spark; of the models it knows how waits are summed up (`models.downtime`) and how durations are written
(`models.durations`). `answer` turns rows into plain data (`view`), `wording` puts the data into sentences, `figures` draws it, and
`page` writes one HTML file. Start with `answer.build`.
"""
