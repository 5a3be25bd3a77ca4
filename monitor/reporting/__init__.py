"""The weekly report, certificates and terminal views: one model, many renderings.

    store ─> evidence ─> build ─> model.WeeklyReport ─┬─ render (HTML, Markdown)
                                                      ├─ weekly_json
                                                      └─ sentences, headline (in the reader's language)

In: one read transaction and the configuration. Out: text; values come from `summaries`. Read `model`, `build`,
`render`. `terminal_views/` draws what commands print.
"""
