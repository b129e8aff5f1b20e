"""The style sheet of a report: light, dark as the reader's system is, and on paper.

Colours of curves are those of Okabe and Ito (2008), which the colour-blind tell apart; in the dark they are lighter.
"""

LIGHT = """
  --paper:#ffffff; --panel:#f5f7f9; --ink:#1c2126; --muted:#5a6572; --rule:#dde2e8; --grid:#e8ecf0;
  --c0:#8a94a0; --c1:#0072b2; --c2:#d55e00; --c3:#009e73; --c4:#b0588f; --warn:#fff6e5; --warn-edge:#d98e04;
"""
DARK = """
  --paper:#14181c; --panel:#1d2329; --ink:#e7eaed; --muted:#9aa6b2; --rule:#333c45; --grid:#2a323a;
  --c0:#8793a0; --c1:#56b4e9; --c2:#f19a4b; --c3:#4fd0a5; --c4:#e3a0c8; --warn:#2d2614; --warn-edge:#e0a93b;
"""
STYLE = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; }}
main {{ max-width: 900px; margin: 0 auto; padding: 40px 30px 60px; }}
.kicker {{ color: var(--muted); font-size: 13px; margin: 0 0 6px; overflow-wrap: anywhere; }}
h1 {{ font-size: 30px; line-height: 1.25; margin: 0 0 10px; letter-spacing: -.01em; overflow-wrap: anywhere; }}
.lead {{ font-size: 18px; line-height: 1.5; margin: 0 0 22px; max-width: 44em; overflow-wrap: anywhere; }}
h2 {{ font-size: 20px; margin: 44px 0 8px; padding-top: 14px; border-top: 1px solid var(--rule);
  overflow-wrap: anywhere; }}
h2.target {{ font-size: 24px; border-top: 3px solid var(--c1); margin-top: 60px; }}
h3 {{ font-size: 14px; margin: 0 0 4px; overflow-wrap: anywhere; }}
p {{ margin: 6px 0 12px; max-width: 46em; }}
.note {{ color: var(--muted); font-size: 13px; max-width: 54em; }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 12px; margin: 0 0 8px; }}
.card {{ background: var(--panel); border-radius: 8px; padding: 12px 16px; }}
.card b {{ display: block; font-size: 26px; line-height: 1.2; font-weight: 650; letter-spacing: -.01em; }}
.card span {{ display: block; color: var(--muted); font-size: 13px; line-height: 1.4; margin-top: 2px; }}
table {{ border-collapse: collapse; width: 100%; font-size: 14px; }}
.wide {{ overflow-x: auto; }}
th, td {{ text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }}
th {{ color: var(--muted); font-weight: 500; font-size: 13px; border-bottom-color: var(--c0); }}
td {{ overflow-wrap: break-word; max-width: 24em; }}
td.n, th.n {{ text-align: right; white-space: nowrap; }}
td.w {{ white-space: nowrap; }}
td small {{ display: block; color: var(--muted); font-size: 12px; }}
tr.own td {{ font-weight: 600; }}
tr.own td small {{ font-weight: 400; }}
td svg {{ min-width: 80px; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 10px 0 14px; }}
dt {{ color: var(--muted); }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
figure {{ margin: 14px 0; }}
figcaption {{ color: var(--muted); font-size: 13px; line-height: 1.45; }}
.pair {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); gap: 12px 36px;
  align-items: start; }}
.grid {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 18px 20px;
  align-items: start; }}
.grid figure {{ margin: 0; }}
svg {{ display: block; width: 100%; height: auto; overflow: visible; }}
svg text {{ font: 12px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--ink); }}
svg .tick, svg .title {{ fill: var(--muted); font-size: 11.5px; }}
svg .label {{ font-size: 13px; }}
svg .strong {{ font-size: 13px; font-weight: 600; }}
svg .on {{ fill: var(--paper); font-weight: 600; }}
svg .halo {{ paint-order: stroke; stroke: var(--paper); stroke-width: 4px; font-size: 12px; }}
svg polyline {{ fill: none; stroke-width: 1.6; stroke-linejoin: round; }}
svg .bold {{ stroke-width: 2.4; }}
svg .grid {{ stroke: var(--grid); display: inline; }}
svg .axis {{ stroke: var(--c0); }}
svg .rug {{ stroke: var(--ink); stroke-opacity: .35; }}
svg .ink {{ stroke: var(--ink); stroke-width: 1.2; }}
svg .reference {{ stroke: var(--c0); stroke-dasharray: 4 4; stroke-width: 1.2; }}
svg .cell.empty {{ fill: var(--panel); stroke: none; }}
{
    "".join(
        f"svg .c{n} {{ stroke: var(--c{n}); }} svg .c{n}.dot {{ fill: var(--c{n}); stroke: var(--paper); }}"
        f"svg .c{n}.area, svg .c{n}.cell {{ fill: var(--c{n}); stroke: none; }}"
        f"svg .c{n}.faint {{ fill: var(--c{n}); fill-opacity: .45; stroke: none; }}"
        f".legend i.c{n} {{ background: var(--c{n}); }}"
        for n in range(5)
    )
}
.legend {{ display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; }}
.legend span {{ overflow-wrap: anywhere; }}
.legend i {{ display: inline-block; width: 14px; height: 4px; border-radius: 2px; margin: 0 7px 3px 0; }}
.warnings {{ list-style: none; padding: 0; margin: 10px 0; }}
.warnings li {{ background: var(--warn); border-left: 3px solid var(--warn-edge); padding: 8px 14px; margin: 0 0 8px;
  border-radius: 0 6px 6px 0; overflow-wrap: anywhere; }}
code {{ font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
pre {{ background: var(--panel); border-radius: 8px; padding: 8px 14px; margin: 3px 0 14px; white-space: pre-wrap;
  overflow-wrap: anywhere; }}
details {{ margin: 8px 0; }}
summary {{ color: var(--muted); cursor: pointer; font-size: 13px; }}
footer {{ color: var(--muted); font-size: 13px; margin-top: 48px; border-top: 1px solid var(--rule);
  padding-top: 12px; }}
@page {{ margin: 16mm 14mm; }}
@media print {{
  :root {{ color-scheme: light; {LIGHT} }}
  body {{ font-size: 10.5pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; }}
  main {{ max-width: none; padding: 0; }}
  h1 {{ font-size: 20pt; }}
  h2 {{ margin-top: 24px; break-after: avoid; }}
  figure, tr, .card, .warnings li, dl, pre {{ break-inside: avoid; }}
  .wide {{ overflow: visible; }}
  td {{ overflow-wrap: anywhere; }}
  table {{ font-size: 9.5pt; }}
  .pair {{ grid-template-columns: 1fr 1fr; gap: 20px; }}
  .grid {{ grid-template-columns: 1fr 1fr 1fr; }}
  .cards {{ grid-template-columns: repeat(4, 1fr); }}
  p, .note {{ break-inside: avoid; break-after: avoid; }}
  details:not([open]) {{ display: none; }}
}}
"""
