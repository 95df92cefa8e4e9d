# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion of windlass. The program itself says what a word may become: src/cli/complete.c.

# Names of files for --option=VALUE or VALUE, those that match a regular expression.
function __windlass_files
    set -l lead (string match -r '^.*=' -- $argv[1])
    set -l value (string replace -r '^.*=' '' -- $argv[1])
    __fish_complete_path "$value" | string match -r -- $argv[2] | string replace -r '^' "$lead"
end

function __windlass_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for line in ($words[1] help --complete -- $words[2..] "$word" 2>/dev/null </dev/null)
        switch $line
            case ':directory'
                __windlass_files "$word" '^[^\t]*/(?:\t.*)?$'
            case ':command'
                __fish_complete_command
            case ':volfile'
                __windlass_files "$word" '^[^\t]*(?:/|\.vol)(?:\t.*)?$'
            case ':*'
                __windlass_files "$word" '^.*$'
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c windlass -f -a '(__windlass_complete)'
