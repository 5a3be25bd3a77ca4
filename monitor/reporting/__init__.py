"""The weekly report, certificates and terminal views: one model, many renderings.

    store ─> evidence ─> build ─> model.PeriodReport ─┬─ render (HTML, Markdown)
                                                      ├─ report_json
                                                      └─ sentences, headline (in the reader's language)

In: one read transaction and the configuration. Out: text; values come from `summaries`. Read `model`, `build`,
`render`. `terminal_views/` draws what commands print.
"""
