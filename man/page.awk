# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes a manual page of its source, NAME.N.in. A line that is one of these is replaced:
#
#   @OPTIONS TYPE@   the output of `windlass help --man TYPE`, without its heading
#                    (-v windlass=COMMAND)
#   @BY-DESIGN@      the output of the conformance kit with --man (-v conform=COMMAND)
#   @OPERATIONS@     the section made from fops.def (-v operations=COMMAND)
#   @PROBES@         the operations that have probes (-v probes=COMMAND)
#   @KERNELS@        the table of features of kernels (-v kernels=COMMAND)
#
# Within a line @VERSION@, @BINDIR@, @MOUNTHELPERDIR@ and @PKGDATADIR@ are replaced by the version
# and the folders (-v version=TEXT and so on).

# Prints text between requests in lines of at most 80 bytes.
function put(line,    at) {
    if (line ~ /^\.(nf|TS)/) literal = 1
    if (line ~ /^\.(fi|TE)/) literal = 0
    while (!literal && line !~ /^\./ && length (line) > 80) {
        at = 80
        while (at > 0 && (substr (line, at, 1) != " " || substr (line, at + 1, 1) ~ /[.\47]/))
            at--
        if (at == 0)
            break
        print substr (line, 1, at - 1)
        line = substr (line, at + 1)
    }
    print line
}

function run(command, what,    line, lines, since) {
    while ((command | getline line) > 0) {
        lines++
        if (line ~ /^\.SH /)
            continue
        # The help of an option is the line after its key; a sentence begins with a capital.
        since = line == ".TP" ? 0 : since + 1
        if (what == "options" && since == 2)
            line = toupper (substr (line, 1, 1)) substr (line, 2)
        put(line)
    }
    if (close (command) != 0 || lines == 0) {
        print "page.awk: '" command "' failed" >"/dev/stderr"
        exit 1
    }
}
/^@OPTIONS .*@$/   { sub (/@$/, "", $2); run(windlass " help --man " $2, "options"); next }
/^@BY-DESIGN@$/    { run(conform " --man", "by-design"); next }
/^@OPERATIONS@$/   { run(operations, "operations"); next }
/^@PROBES@$/       { run(probes, "probes"); next }
/^@KERNELS@$/      { run(kernels, "kernels"); next }
{
    gsub (/@VERSION@/, version)
    gsub (/@BINDIR@/, bindir)
    gsub (/@MOUNTHELPERDIR@/, mounthelperdir)
    gsub (/@PKGDATADIR@/, pkgdatadir)
    put($0)
}
