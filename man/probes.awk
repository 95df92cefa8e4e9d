# SPDX-License-Identifier: LGPL-2.1-or-later
# The names of all operations in fops.def, for windlass-probes(7).
/^FOP \(/ { sub (/^FOP \(/, ""); sub (/\).*/, ""); list = list (list ? ", " : "") $0 }
END       { print list "." }
