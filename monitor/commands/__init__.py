"""The commands: one file is one command or one group of commands, named after its file; a folder is a group of files.

How to add one: write `monitor/commands/<name>.py` and its test. Nothing else is edited. (A name that is a word of
Python takes a trailing underscore: `import_.py` is `tablewatch import`.) The file ends up looking like this:

    \"\"\"`tablewatch status`: show table health.\"\"\"

    import typer

    from monitor.terminal.output import Invocation
    from monitor.terminal.problem import ExitCode, Problem, Stop

    app = typer.Typer(help="Show table health.")  # a group of commands has an `@app.callback()` too

    @app.command()  # one command and no callback: the file is the command itself
    def status(ctx: typer.Context, domain: Annotated[str | None, typer.Option(help="Of this domain.")] = None) -> None:
        \"\"\"Show table health.

        Example: tablewatch status --domain sales
        \"\"\"
        from monitor.config import load_for  # the machinery is imported inside, so that `--help` stays quick

        invocation: Invocation = ctx.obj
        loaded = load_for(invocation)  # honours -c/--config; leaves with exit code 2 and all errors
        ...
        invocation.emit(result_as_json, lambda console: console.print(...))  # one JSON value, or what a person sees
        raise Stop(ExitCode.FAILED)  # leave with a code; with `Problem(...)`s they are shown as errors

Rules. Options that several commands share, and how they are read, stand in `_options.py`. At the top of a command file
import only the standard library, `typer`, `monitor.clock` and, of `monitor.terminal`, `output`, `problem` and `console`
(a test checks what `--help` imports). `-c/--config` and `--format` are added to every command: do not declare them. A
command with formats of its own declares `--format` itself, with `callback=remember_format` of
`monitor.terminal.output`, so that its errors too obey `--format json`. Data goes to stdout through `emit`; all
else through `invocation.note` or `monitor.terminal.console.progress`, which use stderr.

`tablewatch --help` reads the first line of each file and imports none: the docstring begins with the command's name in
backticks and a sentence; `rich_help_panel="..."` ("Watch", "Incidents and cost", "Set up") says where it is listed.
"""
