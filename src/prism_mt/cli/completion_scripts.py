"""Completion scripts of bash, zsh and fish: one function each, with what every command and option takes as data."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """What can be completed: names, files, both or neither; `several` if there may be more than one."""

    names: tuple[str, ...] = ()
    files: bool = False
    several: bool = False


@dataclass(frozen=True)
class Flag:
    """An option as a shell sees it: its spellings, what it is for, and its values unless it is a switch."""

    names: tuple[str, ...]
    help: str
    words: Words | None = None


@dataclass(frozen=True)
class Syntax:
    """What follows a command: options, arguments and, where it is a group, subcommands with what they do."""

    flags: tuple[Flag, ...]
    arguments: Words
    subcommands: Mapping[str, str] = field(default_factory=dict)


Commands = Mapping[str, Syntax]
"""By name; that of a subcommand is of the form `models list`."""
Summaries = Mapping[str, str]


def write_bash(commands: Commands, summaries: Summaries) -> str:
    """Bash shows words only."""
    top = _quote(" ".join([*summaries, *_TOP]))
    return _BASH.replace("@TOP@", top).replace("@CASES@", "".join(_sh_cases(commands, _bash_list)))


def write_zsh(commands: Commands, summaries: Summaries) -> str:
    """Zsh shows what each word is for; the script works sourced and in a folder of `fpath`."""
    top = _zsh_list({**summaries, **_TOP})
    return _ZSH.replace("@TOP@", top).replace("@CASES@", "".join(_sh_cases(commands, _zsh_list)))


def write_fish(commands: Commands, summaries: Summaries) -> str:
    """Fish shows what each word is for."""
    top = _fish_list({**summaries, **_TOP})
    return _FISH.replace("@TOP@", top).replace("@CASES@", "".join(_fish_cases(commands)))


_TOP = {"--help": "list the commands", "--version": "print the version"}
_List = Callable[[Mapping[str, str]], str]


def _sh_cases(commands: Commands, write: _List) -> Iterator[str]:
    """The branches of a `case` for bash and zsh."""
    for name, syntax in commands.items():
        yield f"    {_quote(name)})\n        subs={write(syntax.subcommands)}\n"
        yield f"        flags={write(_spelled(syntax))}\n"
        yield f"        arguments={_quote(' '.join(syntax.arguments.names))} files={_digit(syntax.arguments.files)}\n"
        yield "        case $option in\n"
        for flag in syntax.flags:
            if flag.words:
                yield f"            {'|'.join(flag.names)}) {_assignments(flag.words)} ;;\n"
        yield "        esac ;;\n"


def _assignments(words: Words) -> str:
    return (
        f"takes=1 several={_digit(words.several)} option_files={_digit(words.files)} "
        f"values={_quote(' '.join(words.names))}"
    )


def _fish_cases(commands: Commands) -> Iterator[str]:
    for name, syntax in commands.items():
        yield f"        case {_quote(name)}\n"
        yield f"            set subs {_fish_list(syntax.subcommands)}\n"
        yield f"            set flags {_fish_list(_spelled(syntax))}\n"
        yield f"            set arguments {' '.join(map(_quote, syntax.arguments.names))}\n"
        yield f"            set files {_digit(syntax.arguments.files)}\n"
        yield "            switch $option\n"
        for flag in syntax.flags:
            if flag.words:
                yield f"                case {' '.join(flag.names)}\n"
                yield f"                    set takes 1; set several {_digit(flag.words.several)}\n"
                yield f"                    set option_files {_digit(flag.words.files)}\n"
                yield f"                    set values {' '.join(map(_quote, flag.words.names))}\n"
        yield "            end\n"


def _spelled(syntax: Syntax) -> dict[str, str]:
    return {name: flag.help for flag in syntax.flags for name in flag.names}


def _bash_list(words: Mapping[str, str]) -> str:
    return _quote(" ".join(words))


def _zsh_list(words: Mapping[str, str]) -> str:
    """An array for `_describe`: a colon divides a word from what it is for."""
    return "(" + " ".join(_quote(f"{word}:{text}") for word, text in words.items()) + ")"


def _fish_list(words: Mapping[str, str]) -> str:
    return " ".join(_quote(f"{word}\t{text}") for word, text in words.items())


def _digit(flag: bool) -> str:
    return str(int(flag))


def _quote(text: str) -> str:
    """Quote a word for any of the three shells."""
    return "'" + text.replace("\\", "/").replace("'", "’") + "'"


# In all three, `option` is the last option before the cursor, and `after` how many words stand between the two: options
# such as --metric take several values, others only the next word. Bash divides words at `=`.
_BASH = """_prism() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} name place first=2 after=0 direct=0
    local option= subs= flags= arguments= files=0 takes=0 several=0 option_files=0 values=
    local IFS=$' \\t\\n'
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W @TOP@ -- "$word"))
        return
    fi
    _prism_syntax
    if [ "$COMP_CWORD" -gt 2 ]; then
        for name in $subs; do
            if [ "$name" = "${COMP_WORDS[2]}" ]; then command="$command $name" first=3; fi
        done
    fi
    for ((place = COMP_CWORD - 1; place >= first; place--)); do
        case ${COMP_WORDS[place]} in -*) option=${COMP_WORDS[place]}; break ;; esac
        after=$((after + 1))
    done
    if [ "$after" -eq 0 ] || { [ "$after" -eq 1 ] && [ "${COMP_WORDS[COMP_CWORD - 1]}" = "=" ]; }; then
        direct=1
    fi
    if [ "$word" = "=" ]; then word=; fi
    _prism_syntax
    compopt -o filenames 2>/dev/null
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
    elif [ "$takes" -eq 1 ] && [ $((several + direct)) -gt 0 ]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
        if [ "$option_files" -eq 1 ]; then _prism_files; fi
    else
        COMPREPLY=($(compgen -W "$arguments" -- "$word"))
        if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY+=($(compgen -W "$subs" -- "$word")); fi
        if [ "$files" -eq 1 ]; then _prism_files; fi
    fi
}
_prism_files() {
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$word"))
}
_prism_syntax() {
    case $command in
@CASES@    esac
}
complete -F _prism prism
"""

_ZSH = """#compdef prism
_prism() {
    local command=$words[2] option= arguments= values= current=$PREFIX
    local -a subs flags shown
    local -i first=3 after=0 files=0 takes=0 several=0 option_files=0 direct=0 place
    if (( CURRENT == 2 )); then
        shown=@TOP@
        _describe -t commands command shown
        return
    fi
    _prism_syntax
    if (( CURRENT > 3 )) && (( ${subs[(I)${words[3]}:*]} )); then
        command="$command $words[3]" first=4
    fi
    for (( place = CURRENT - 1; place >= first; place-- )); do
        if [[ $words[place] == -* ]]; then
            option=$words[place]
            break
        fi
        after+=1
    done
    if [[ $current == --*=* ]]; then
        option=${current%%=*} after=0
        compset -P '*='
    elif [[ $current == -* ]]; then
        _prism_syntax
        _describe -o -t options option flags
        return
    fi
    (( direct = after == 0 ))
    _prism_syntax
    if (( takes && (several || direct) )); then
        shown=(${=values})
        (( $#shown )) && _describe -t values value shown
        (( option_files )) && _prism_files
    else
        shown=(${=arguments})
        (( $#shown )) && _describe -t values value shown
        (( CURRENT == 3 && $#subs )) && _describe -t commands command subs
        (( files )) && _prism_files
    fi
}
_prism_files() {
    compset -P '*='
    _files
}
_prism_syntax() {
    case $command in
@CASES@    esac
}
if [[ $funcstack[1] == _prism ]]; then
    _prism "$@"
else
    compdef _prism prism
fi
"""

_FISH = """function __prism_complete --argument-names wanted
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l command $typed[2]
    set -l option ''
    set -l prefix ''
    set -l after 0
    set -l first 3
    set -l files 0; set -l takes 0; set -l several 0; set -l option_files 0
    set -l subs; set -l flags; set -l arguments; set -l values
    if test (count $typed) -eq 1
        test $wanted = words; and printf '%s\\n' @TOP@
        return 1
    end
    __prism_syntax
    if test (count $typed) -gt 2
        if string match -q -- "$typed[3]"\\t'*' $subs
            set command "$command $typed[3]"
            set first 4
        end
    end
    set -l place (count $typed)
    while test $place -ge $first
        if string match -q -- '-*' $typed[$place]
            set option $typed[$place]
            break
        end
        set after (math $after + 1)
        set place (math $place - 1)
    end
    if string match -q -- '--*=*' $current
        set option (string split -m 1 = -- $current)[1]
        set prefix "$option="
        set after 0
    else if string match -q -- '-*' $current
        __prism_syntax
        test $wanted = words; and printf '%s\\n' $flags
        return 1
    end
    __prism_syntax
    if test $takes -eq 1; and test \\( $several -eq 1 \\) -o \\( $after -eq 0 \\)
        test $wanted = words; and printf "$prefix%s\\n" $values
        test $option_files -eq 1
    else
        test $wanted = words; and printf '%s\\n' $arguments
        test $wanted = words; and test (count $typed) -eq 2; and printf '%s\\n' $subs
        test $files -eq 1
    end
end
function __prism_syntax --no-scope-shadowing
    switch $command
@CASES@    end
end
complete -c prism -e
complete -c prism -f
complete -c prism -n '__prism_complete files' -F
complete -c prism -a '(__prism_complete words)'
"""
