# SPDX-License-Identifier: LGPL-2.1-or-later
"""The pages of the site in the reader's order, and the line that the index has for each document.

A document or manual that is named nowhere here is added to the last group of its kind, so that a
new page appears without a change of this file."""

# (heading, [(document, what it is for, its title where its own is not enough)])
DOCUMENTS = [
    ("Begin", [
        ("install", "Packages, a build by hand, and a first mount."),
        ("overlay", "Undo for any directory: an agent\u2019s edits are looked at, and thrown away."),
        ("quickstart-trash", "What rm took comes back; who did what is recorded."),
        ("quickstart-faults", "Full disks, slow disks and power cuts, on demand."),
        ("quickstart-slow", "What programs do with a directory, and what they wait for."),
        ("quickstart-run", "A view of a folder for one command, without a mount that stays."),
        ("quickstart-live", "Caches, a translator that changes bytes, options that change while it runs, fstab."),
        ("quickstart-gluster", "A GlusterFS volume, with its servers as they are."),
        ("quickstart-translator", "A translator of your own, from one file of C to a mount."),
    ]),
    ("When something is wrong", [
        ("why-slow", "From \u201cit is slow\u201d to the translator, the file and the call."),
        ("why-errors", "EXDEV, EIO, EACCES and others: who said no, and why."),
        ("why-busy", "Who keeps a mount busy, and what to do about a dead one."),
    ]),
    ("Choosing", [
        ("comparison", "bindfs, mergerfs, gocryptfs, overlayfs, GlusterFS\u2019s client, "
                       "in both directions."),
        ("security", "What is promised against whom, and the test of each promise."),
        ("figures", "Measured speeds and memory, beside the bare directory and others."),
        ("figures-bricks", "The same with servers of GlusterFS.", "Figures with bricks"),
    ]),
    ("Going deeper", [
        ("cluster", "From two empty directories to a replicated volume."),
        ("debugging", "Four sessions with gdb, the timeline and bpftrace."),
        ("bridge", "The reasons for what the FUSE bridge does."),
    ]),
]

# (heading, the pages in it, or a pattern of the others)
MANUALS = [
    ("Manuals: the program", ["windlass", "windlass-commands", "windlass-run", "windlass-options",
                              "mount.windlass", "windlass@.service", "volfile",
                              "windlass-semantics", "windlass-kernels", "windlass-meta",
                              "windlass-rules"]),
    ("Manuals: for authors of translators", ["fops", "windlass-conform", "windlass-gdb",
                                             "windlass-probes"]),
]
OTHER_PROGRAM_MANUALS = "Manuals: the program"  # another windlass-NAME
TRANSLATORS = "Manuals: the translators"  # every other name
