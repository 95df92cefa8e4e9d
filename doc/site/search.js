// SPDX-License-Identifier: LGPL-2.1-or-later
// Search by name, in the list that search-index.js holds: pages, subcommands, options, operations
// and headings; and a button that copies commands. Nothing needs a server, so it works for files.
"use strict";

(() => {
    const form = document.querySelector(".search");
    const input = form.querySelector("input");
    const list = form.querySelector("ul");
    const MOST = 12;
    // What people look for first; a smaller number is shown earlier among equal matches.
    const ORDER = { page: 0, manual: 0, subcommand: 1, option: 2, operation: 3, term: 4,
                    section: 5 };
    let selected = -1;

    const folded = (text) => text.toLowerCase().replace(/[\s_/-]+/g, "-").replace(/^-+|-+$/g, "");
    const index = window.searchIndex.map(([name, kind, url, where, text]) =>
        ({ name, kind, url, where, text, key: folded(name), more: folded(text) }));

    // 0: the name itself, 1: its last part (the write-behind of performance-write-behind), 2: its
    // beginning, 3: the beginning of a word, 4: within, 5: in the description; -1: not at all.
    function match(entry, key) {
        if (entry.key === key)
            return 0;
        if (entry.kind === "manual" && entry.key.endsWith("-" + key))
            return 1;
        if (entry.key.startsWith(key))
            return 2;
        if (entry.key.includes("-" + key))
            return 3;
        if (entry.key.includes(key))
            return 4;
        return key.length > 2 && entry.more.includes(key) ? 5 : -1;
    }

    function find(text) {
        const key = folded(text);

        return !key ? [] : index.map((entry) => ({ entry, rank: match(entry, key) }))
            .filter((found) => found.rank >= 0)
            .sort((a, b) => a.rank - b.rank || ORDER[a.entry.kind] - ORDER[b.entry.kind]
                || a.entry.name.length - b.entry.name.length)
            .slice(0, MOST).map((found) => found.entry);
    }

    function element(name, text, parent) {
        const made = parent.appendChild(document.createElement(name));

        made.textContent = text;
        return made;
    }

    function select(number) {
        const rows = [...list.querySelectorAll("[role=option]")];

        selected = rows.length ? (number + rows.length) % rows.length : -1;
        rows.forEach((row, at) => row.setAttribute("aria-selected", at === selected));
        if (selected >= 0) {
            rows[selected].scrollIntoView({ block: "nearest" });
            input.setAttribute("aria-activedescendant", rows[selected].id);
        }
    }

    function show(open) {
        list.hidden = !open;
        input.setAttribute("aria-expanded", open);
    }

    function update() {
        const found = find(input.value);

        list.replaceChildren();
        found.forEach((entry, at) => {
            const row = element("li", "", list);
            const link = element("a", "", row);

            row.id = "found-" + at;
            row.setAttribute("role", "option");
            link.href = entry.url;
            link.tabIndex = -1;
            element("em", entry.kind, link);
            element("b", entry.name, link);
            element("small", [entry.where, entry.text].filter((part) =>
                part && part !== entry.name).join(": "), link);
        });
        if (input.value.trim() && !found.length)
            element("li", "nothing has this name", list).className = "nothing";
        show(list.childElementCount > 0);
        select(0);
    }

    input.addEventListener("input", update);
    input.addEventListener("focus", () => show(list.childElementCount > 0));
    input.addEventListener("keydown", (event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            select(selected + (event.key === "ArrowDown" ? 1 : -1));
            event.preventDefault();
        } else if (event.key === "Escape") {
            show(false);
            input.blur();
        }
    });
    form.addEventListener("submit", (event) => {
        const row = list.querySelector("[aria-selected=true] a");

        event.preventDefault();
        if (row) {
            show(false);
            row.click();
        }
    });
    document.addEventListener("click", (event) => form.contains(event.target) || show(false));
    document.addEventListener("keydown", (event) => {
        const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);

        if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
            input.focus();
            event.preventDefault();
        }
    });
    form.hidden = false;

    // In a narrow window the list of all pages begins closed; without a script it is open.
    const menu = document.querySelector(".menu");
    const narrow = window.matchMedia("(max-width: 59.99rem)");
    const fit = () => { menu.open = !narrow.matches; };

    narrow.addEventListener("change", fit);
    fit();

    // Commands of a document are copied whole; sessions with prompts are not for pasting.
    for (const code of document.querySelectorAll("pre > code.language-sh")) {
        if (!navigator.clipboard || code.textContent.startsWith("$ "))
            continue;
        const button = element("button", "copy", code.parentElement);

        button.type = "button";
        button.addEventListener("click", async () => {
            await navigator.clipboard.writeText(code.textContent);
            button.textContent = "copied";
            setTimeout(() => { button.textContent = "copy"; }, 1500);
        });
    }
})();
