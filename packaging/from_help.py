#!/usr/bin/env python3
"""Writes the manual page and the shell completions of a command from its own --help.

usage: from_help.py COMMAND FOLDER [EMULATOR...]      -> FOLDER/ashlar.1, FOLDER/ashlar (bash), FOLDER/_ashlar (zsh)
"""
import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
WORD = re.compile(r"[a-z0-9][a-z0-9_:-]*")
LIST = re.compile(rf"(?:.*: )?({WORD.pattern}(?:, {WORD.pattern})+)(?: \(default.*\))?")


def choices(value, text):
    """Returns the possible words of a value: alternatives in its placeholder (SIZE|min has one), or
    the list in its text.
    """
    words = [word for word in value.split("|") if WORD.fullmatch(word)] if "|" in value else []
    listed = LIST.fullmatch(text)
    return words or (listed.group(1).split(", ") if listed else [])


class Help:
    """A parsed help text: usage, sections of (names, value, text), and the lines after them."""

    def __init__(self, text):
        self.summary, self.usage, self.sections, self.footer = "", "", [], []
        for line in text.splitlines():
            entry = ENTRY.match(line)
            if line.startswith("Usage: "):
                self.usage = line[len("Usage: "):]
            elif not self.usage:
                self.summary = self.summary or line
            elif re.fullmatch(r"[A-Z].*:", line) and line != "Examples:" and not self.footer:
                self.sections.append((line[:-1], []))
            elif entry and self.sections and not self.footer:
                self.sections[-1][1].append((entry.group(1), entry.group(2) or ""))
            elif self.footer or (line and not line.startswith(" ")):
                self.footer.append(line)
            elif line.strip() and self.sections and self.sections[-1][1]:  # the text continues
                left, begin = self.sections[-1][1][-1]
                self.sections[-1][1][-1] = (left, f"{begin} {line.strip()}".strip())

    def options(self):
        """Yields (names, placeholder or "", text) of every option."""
        for _, entries in self.sections:
            for left, text in entries:
                if left.startswith("-"):
                    names, _, value = left.partition(" ")
                    yield names.split(","), value.strip(), text

    def arguments(self):
        """Returns the possible words of arguments that take one of a list, such as the models of
        the zoo.
        """
        return [word for title, entries in self.sections if title == "Positionals" for _, text in entries for word in choices("", text)]

    def subcommands(self):
        return dict(entry for title, entries in self.sections if title == "Subcommands" for entry in entries)


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def manual(version, top, commands):
    lines = [f'.TH ASHLAR 1 "" "Ashlar {version}" "User Commands"', ".SH NAME", "ashlar \\- " + roff(top.summary.rstrip(".")),
             ".SH SYNOPSIS", ".B ashlar", "[\\fIOPTIONS\\fR] \\fISUBCOMMAND\\fR"]

    def entries(section):
        for left, text in section:
            names, _, value = left.partition(" ")
            value = f" \\fI{roff(value.strip())}\\fR" if value.strip() else ""
            lines.extend([".TP", f"\\fB{roff(names)}\\fR{value}", roff(text) or "\\&"])

    for title, section in top.sections:
        lines.append(f".SH {title.upper()}")
        entries(section)
    for name, text in commands.items():
        lines.extend([f'.SH "ASHLAR {name.upper()}"', roff(text.summary), ".PP", f".B {roff(text.usage)}"])
        for title, section in text.sections:
            lines.append(f'.SS "{title}"')
            entries(section)
        if text.footer:
            lines.extend([".SS Examples", ".nf"] + [roff(line.strip()) for line in text.footer if line != "Examples:"] + [".fi"])
    lines.extend([".SH NOTES", ".nf"] + [roff(line) for line in top.footer] + [".fi"])
    return "\n".join(lines) + "\n"


def bash(commands):
    def case(name, text):
        options = list(text.options())
        lines = [f"    {name})", f"      words=\"{' '.join(n for names, _, _ in options for n in names)}\"",
                 f"      values=\"{' '.join(text.arguments())}\"", "      case $option in"]
        for names, value, help_text in options:
            if value:
                lines.append(f"        {'|'.join(names)}) values=\"{' '.join(choices(value, help_text))}\" ;;")
        return "\n".join(lines + ["      esac ;;"])

    cases = "\n".join(case(name, text) for name, text in commands.items())
    return f"""# bash completion of ashlar, made from its --help
_ashlar() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} words values
  COMPREPLY=()
  if [ "$current" = = ]; then  # --option=, which bash takes apart
    current=
  elif [ "$option" = = ]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{' '.join(commands)} --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
    *) return ;;
  esac
  if [ "${{current#-}}" != "$current" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _ashlar ashlar
"""


def zsh(top, commands):
    def quoted(text):
        return text.replace("'", "'\\''")

    def described(text):
        return quoted(re.sub(r"([\[\]\\:])", r"\\\1", text))

    def offered(words):
        return f"({' '.join(map(described, words))})" if words else "_files"

    lines = ["#compdef ashlar", "# made from the --help of ashlar", "_ashlar() {", "  local -a subcommands", "  subcommands=("]
    lines += [f"    '{name}:{described(text)}'" for name, text in top.subcommands().items()]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe subcommand subcommands", "    return", "  fi",
              "  case $words[2] in"]
    for name, text in commands.items():
        specs = []
        for names, value, help_text in text.options():
            for option in names:
                specs.append(f"      '{option}[{described(help_text)}]" + (f":{described(value)}:{offered(choices(value, help_text))}'" if value else "'"))
        lines += [f"    {name}) _arguments \\"] + [spec + " \\" for spec in specs] + [f"      '*:file:{offered(text.arguments())}' ;;"]
    return "\n".join(lines + ["  esac", "}", '_ashlar "$@"', ""])


def main(command, folder, *emulator):
    def help_of(*arguments):
        return subprocess.run([*emulator, command, *arguments], check=True, capture_output=True, text=True).stdout

    top = Help(help_of("--help"))
    version = help_of("--version").split()[1]
    commands = {name: Help(help_of(name, "--help")) for name in top.subcommands()}
    target = pathlib.Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    (target / "ashlar.1").write_text(manual(version, top, commands))
    (target / "ashlar").write_text(bash(commands))
    (target / "_ashlar").write_text(zsh(top, commands))


if __name__ == "__main__":
    main(*sys.argv[1:])
