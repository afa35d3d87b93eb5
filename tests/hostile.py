"""Texts that instruct some reader: a browser, a terminal, a spreadsheet, Markdown, LaTeX, a shell, a template."""

RUN = "document.title='ran'"
HOSTILE = (
    f"<script>{RUN}</script>",
    f"</title></style></td><img src=x onerror={RUN}>",
    f'" onmouseover="{RUN}" autofocus onfocus="{RUN}',
    f"<svg onload={RUN}><iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"[here](javascript:{RUN}) ![seen](http://seen.invalid/a.png) https://seen.invalid",
    "<!-- --> &lt;b&gt; &amp;",
    "**bold** _it_ `code` | cell | ~~gone~~ # head",
    "{{ 7 * 7 }} {% raw %} ${7*7} %(x)s {0}",
    "$x_1$ and $\\frac$",
    "\\input{/etc/passwd} \\write18{touch PWNED} 100 % & ~ ^ #",
    "=cmd|' /C calc'!A0",
    "+HYPERLINK(1)",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "\t=1+1",
    "\x1b]0;ran\x07\x1b[2J\x9b31mred",
    "one\rtwo\x00three\x7f\u2028four\x85five",
    "\u202egnp.exe\u2066",
    "x$(touch PWNED)`touch PWNED`;touch PWNED|touch PWNED",
    "../../up 'quoted' \"twice\" a\u00a0b\u3000c",
    "1. one\n- two\n\n    three\n---",
)
