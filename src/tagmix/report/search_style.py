"""The style sheet of the page of a search, for light and dark screens."""

CSS = """
:root { color-scheme: light dark; --ink: #1f2933; --muted: #5d6874; --paper: #fcfbf8; --card: #ffffff;
  --line: #dcd8ce; --accent: #1f5f8b; --on-accent: #ffffff; --no: #b0421d; --empty: #e9e6de; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e1; --muted: #a3acb5; --paper: #16191c; --card: #1f2327; --line: #3a4046;
    --accent: #7db8e0; --on-accent: #10202c; --no: #f08a66; --empty: #2a2f34; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
main { max-width: 110rem; margin: 0 auto; padding: 2rem clamp(1rem, 3vw, 2.5rem) 4rem; }
h1 { font-size: clamp(1.5rem, 4vw, 2.2rem); line-height: 1.2; margin: 0 0 .3rem; font-weight: 600;
  overflow-wrap: anywhere; }
header p { margin: 0; color: var(--muted); overflow-wrap: anywhere; }
ul { list-style: none; margin: 0; padding: 0; }
.where { font-size: .88rem; }
.legend { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin-top: .9rem; font-size: .85rem;
  color: var(--muted); }
.photos { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr));
  gap: 1.25rem; margin-top: 1.75rem; align-items: start; }
.photo { background: var(--card); border: 1px solid var(--line); border-radius: 8px; overflow: hidden;
  min-width: 0; }
.photo a { display: block; color: inherit; text-decoration: none; }
.photo a:hover .name, .photo a:focus-visible .name { text-decoration: underline; }
.photo a:focus-visible { outline: 3px solid var(--accent); outline-offset: -3px; }
.photo img, .none { display: block; width: 100%; aspect-ratio: 4 / 3; object-fit: contain;
  background: var(--empty); }
.none { display: grid; place-items: center; color: var(--muted); font-size: .88rem; }
.name { display: block; padding: .6rem .75rem 0; font-size: .85rem; overflow-wrap: anywhere; }
.tags { display: flex; flex-wrap: wrap; gap: .35rem; padding: .55rem .75rem .8rem; }
.tag { border: 1px solid var(--line); border-radius: .85rem; padding: .05rem .6rem; font-size: .82rem;
  line-height: 1.5; max-width: 100%; overflow-wrap: anywhere; }
.tag small { font-size: .76rem; color: var(--muted); font-variant-numeric: tabular-nums; }
.tag.human { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.tag.metadata { border-color: var(--accent); }
.tag.machine { border-style: dashed; border-color: var(--muted); }
.tag.no { color: var(--no); border-color: transparent; padding: .05rem .2rem; text-decoration: line-through; }
.more { font-size: .82rem; color: var(--muted); }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
@media print { .photo { break-inside: avoid; } }
""".strip()
