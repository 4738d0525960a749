"""Rows in, pictures and pages out.

Knows neither files nor Spark. `answer` makes plain data of rows (`view`), `wording` says it in sentences, `figures` draws it, `page` puts
it into one HTML file. Start with `answer.build`.
"""
