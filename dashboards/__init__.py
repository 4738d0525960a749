"""Pages, figures and sentences made from rows.

Knows neither files nor Spark. `answer` turns rows into plain data (`view`), `wording` puts the data into sentences,
`figures` draws it, and `page` writes one HTML file. Start with `answer.build`.
"""
