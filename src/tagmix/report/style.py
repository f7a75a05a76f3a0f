"""The palette and the style sheet: ink on paper, one cold accent, one warm for what is wrong."""

INK = "#1f2933"
MUTED = "#5d6874"  # 5.6 : 1 on paper: small print must still be read
LINE = "#e2ded4"
PAPER = "#fcfbf8"
ACCENT = "#1f5f8b"
QUIET = "#a9c4d6"
WARM = "#b0421d"

CSS = f"""
:root {{ color-scheme: light; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: {PAPER}; color: {INK}; line-height: 1.55;
  font: 1.0625rem/1.55 Charter, "Bitstream Charter", "Sitka Text", Cambria, "Liberation Serif", serif; }}
main {{ max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }}
h1 {{ font-size: clamp(1.7rem, 4.5vw, 2.5rem); line-height: 1.15; margin: 0 0 1rem; font-weight: 600;
  letter-spacing: -.01em; max-width: 24em; text-wrap: balance; }}
h2 {{ font-size: 1.35rem; margin: 3.25rem 0 .4rem; font-weight: 600; line-height: 1.25; }}
h2::first-letter, summary::first-letter, .toc li::first-letter {{ text-transform: uppercase; }}
p {{ max-width: 44rem; margin: .4rem 0 1rem; }}
.lead {{ font-size: 1.17rem; }}
.eyebrow, .note, figcaption, table, .tiles, .card, .legend, dl {{
  font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }}
.eyebrow {{ color: {MUTED}; font-size: .85rem; margin: 0 0 .6rem; letter-spacing: .02em; }}
.note, figcaption {{ color: {MUTED}; font-size: .88rem; line-height: 1.45; }}
.note {{ max-width: 46rem; }}
.tiles {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem;
  margin: 1.75rem 0 0; }}
.tile {{ border-top: 3px solid {ACCENT}; padding: .6rem 0 0; }}
.tile.wrong {{ border-color: {WARM}; }}
.tile b {{ display: block; font-size: 2rem; line-height: 1.1; font-weight: 600;
  font-variant-numeric: tabular-nums; }}
.tile span {{ display: block; font-size: .9rem; color: {MUTED}; margin-top: .3rem; line-height: 1.4; }}
.pair {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 1rem 3rem; align-items: start; }}
.pair h2 {{ margin-top: 2.75rem; }}
.pair section + section h2 {{ margin-top: 2rem; }}
figure {{ margin: .75rem 0; }}
figure svg {{ width: 100%; height: auto; max-width: 36rem; display: block;
  font-family: system-ui, "Liberation Sans", sans-serif; }}
figcaption {{ margin-top: .5rem; max-width: 36rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: .94rem; margin: 1rem 0;
  font-variant-numeric: tabular-nums; }}
th {{ text-align: left; font-weight: 500; padding: .5rem .9rem .5rem 0; vertical-align: bottom; }}
thead th {{ font-size: .82rem; color: {MUTED}; line-height: 1.3; border-bottom: 1px solid {INK}; }}
tbody th small {{ display: block; color: {MUTED}; font-weight: 400; font-size: .8rem; line-height: 1.3; }}
tbody tr {{ border-bottom: 1px solid {LINE}; }}
td {{ padding: .5rem .9rem .5rem 0; width: 19%; vertical-align: middle; }}
.strong th {{ font-weight: 700; }}
.wrong th {{ color: {WARM}; }}
.bar {{ display: block; position: relative; height: 5px; background: {LINE}; border-radius: 3px;
  margin-top: .25rem; }}
.bar i {{ display: block; height: 100%; border-radius: 3px; background: {ACCENT}; }}
.bar u {{ position: absolute; top: -2px; height: 9px; border: solid {INK}; border-width: 0 1px;
  background: linear-gradient({INK}, {INK}) center / 100% 1px no-repeat; }}
.quiet .bar i {{ background: #9aa5ae; }}
.wrong .bar i {{ background: {WARM}; }}
.grid td {{ width: auto; white-space: nowrap; vertical-align: top; }}
.grid td small {{ display: block; color: {MUTED}; font-size: .8rem; line-height: 1.3; }}
.grid td .bar {{ min-width: 5.5rem; max-width: 9rem; margin-bottom: .3rem; }}
.grid th {{ vertical-align: top; }}
.grid thead th {{ vertical-align: bottom; min-width: 3rem; }}
.grid tbody th {{ position: sticky; left: 0; background: {PAPER}; min-width: 15rem; }}
.grid .text {{ white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }}
.grid .best {{ font-weight: 600; }}
.grid sub, p sub, span sub {{ font-size: .75em; line-height: 0; }}
.grid .quiet th, .grid .quiet td {{ color: {MUTED}; }}
.sub {{ font-size: 1.08rem; font-weight: 600; margin: 2rem 0 .2rem; }}
.said {{ border-left: 3px solid {ACCENT}; padding-left: .9rem; }}
.toc {{ display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: 1.5rem 0 0; font-size: .9rem; padding: 0;
  list-style: none; font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }}
.toc a {{ color: {ACCENT}; }}
details {{ margin: .6rem 0; }}
summary {{ cursor: pointer; font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif;
  font-size: .92rem; }}
.card {{ border-top: 1px solid {LINE}; padding: 1.1rem 0 1.2rem; font-size: .9rem; }}
.card h3 {{ margin: 0 0 .6rem; font-size: .9rem; font-weight: 600; }}
.card h3 span {{ color: {MUTED}; font-weight: 400; }}
.regions {{ display: grid; grid-template-columns: repeat(8, 1fr); gap: 3px; list-style: none; padding: 0;
  margin: 0 0 .9rem; }}
.regions li {{ min-width: 0; border-radius: 4px; overflow: hidden; }}
.regions span {{ display: block; padding: .15rem .4rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }}
.regions .true {{ height: 3.6rem; padding-top: .3rem; font-weight: 600; }}
.regions .found {{ font-size: .84rem; border-top: 2px solid {PAPER}; }}
.regions .miss {{ outline: 3px solid {WARM}; outline-offset: -3px; font-weight: 700; padding-left: .5rem; }}
.tags {{ display: grid; grid-template-columns: minmax(12rem, 1fr) 2fr; gap: .5rem 2.5rem; }}
.tags p {{ margin: 0; line-height: 1.5; }}
.chip {{ white-space: nowrap; margin-right: .7rem; display: inline-block; }}
.chip i {{ display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .3em;
  box-shadow: inset 0 0 0 1px #0002; }}
.rank {{ list-style: none; margin: 0; padding: 0; columns: 2; column-gap: 2.5rem; }}
.rank li {{ display: grid; grid-template-columns: 6.2rem 1fr 2.2rem; gap: .6rem; align-items: center;
  break-inside: avoid; line-height: 1.7; color: {MUTED}; font-variant-numeric: tabular-nums; }}
.rank .hit {{ color: {INK}; font-weight: 600; }}
.rank .bar {{ margin: 0; height: 7px; }}
.rank li:not(.hit) .bar i {{ background: #9aa5ae; }}
.rank li > span:first-child {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.cases {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr));
  gap: 0 3.5rem; }}
.case {{ display: flex; flex-wrap: wrap; gap: .7rem 1.5rem; align-content: flex-start; min-width: 0; }}
.case h3 {{ flex: 1 0 100%; min-width: 0; max-width: 100%; margin: 0; display: flex; gap: .4em;
  white-space: nowrap; }}
.case h3 b {{ font-weight: 600; overflow: hidden; text-overflow: ellipsis; }}
.shot {{ position: relative; flex: 0 1 auto; max-width: 100%; align-self: flex-start; border-radius: 3px;
  overflow: hidden; background: {LINE}; }}
.shot img {{ display: block; width: 100%; height: auto; }}
.over {{ position: absolute; inset: 0; width: 100%; height: 100%; }}
.over path {{ fill: none; stroke-linejoin: round; stroke-linecap: round; pointer-events: none;
  vector-effect: non-scaling-stroke; }}
.over .region {{ pointer-events: all; fill: transparent; }}
.over .region:hover {{ fill: #fff3; }}
.over .halo {{ stroke: #0009; stroke-width: 3.2; }}
.over .line {{ stroke: #fff; stroke-width: 1.3; }}
.over .inner {{ stroke: #fff; stroke-width: 1; stroke-opacity: .35; stroke-dasharray: 1 4; }}
.over text {{ text-anchor: middle; dominant-baseline: central; pointer-events: none; fill: #fff;
  stroke: #111c; stroke-width: .24em; stroke-linejoin: round; paint-order: stroke; font-weight: 600; }}
.l {{ font-size: 17px; }} .m {{ font-size: 14px; }} .s {{ font-size: 11.5px; }}
.over .miss {{ fill: {WARM}; stroke: #fffd; }}
.about {{ flex: 1 1 11rem; min-width: 0; }}
.about p {{ margin: .5rem 0 0; line-height: 1.45; color: {MUTED}; overflow-wrap: anywhere; }}
.about p bdi {{ color: {INK}; display: inline-block; max-width: calc(100% - .6em); overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }}
.about .kept {{ white-space: nowrap; }}
.about p .miss, .guesses .miss {{ color: {WARM}; }}
.guesses {{ list-style: none; margin: 0; padding: 0; }}
.guesses li {{ display: grid; grid-template-columns: 1em minmax(0, 7.5rem) minmax(2rem, 1fr) 2.2rem;
  gap: .5rem; align-items: center; line-height: 1.6; color: {MUTED}; font-variant-numeric: tabular-nums; }}
.guesses span:nth-child(2) {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.guesses .shown {{ color: {INK}; font-weight: 600; }}
.guesses .bar {{ margin: 0; height: 7px; }}
.guesses li:not(.shown) .bar i {{ background: #9aa5ae; }}
dl.said-by {{ flex: 1 0 100%; grid-template-columns: fit-content(9rem) 1fr; gap: .2rem 1rem;
  margin: 0; }}
.said-by span {{ white-space: nowrap; margin-right: .45em; color: {MUTED}; display: inline-block; }}
.said-by .hit {{ color: {INK}; font-weight: 600; }}
.looks {{ display: grid; grid-template-columns: minmax(4rem, 8rem) 1fr; gap: .45rem 1rem; margin: 1rem 0;
  align-items: center; font-size: .9rem; }}
.looks dt {{ color: {INK}; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.looks dd {{ display: flex; flex-wrap: wrap; gap: 3px; }}
.looks img {{ width: 48px; height: 48px; border-radius: 3px; object-fit: cover; display: block; }}
.legend {{ font-size: .88rem; color: {MUTED}; }}
.legend b {{ color: {WARM}; }}
dl {{ display: grid; grid-template-columns: fit-content(18rem) 1fr; gap: .2rem 1.5rem; margin: 1rem 0;
  font-size: .88rem; }}
dt {{ color: {MUTED}; }} dd {{ margin: 0; }}
footer {{ margin-top: 3rem; border-top: 1px solid {LINE}; }}
@media (max-width: 44rem) {{
  main {{ padding: 1.5rem 1rem 3rem; }}
  .regions {{ grid-template-columns: repeat(4, 1fr); gap: 6px 3px; }}
  .regions .true, .regions .found {{ font-size: .8rem; padding-left: .3rem; padding-right: .2rem; }}
  .tags {{ grid-template-columns: 1fr; }}
  .rank {{ columns: 1; }}
  dl.looks {{ grid-template-columns: minmax(0, 5.5rem) 1fr; }}
  .wide .l {{ font-size: 19px; }} .wide .m {{ font-size: 16px; }} .wide .s {{ font-size: 13.5px; }}
  table {{ font-size: .88rem; }}
  .grid tbody th {{ min-width: 8rem; }}
  th, td {{ padding-right: .6rem; }}
  dl:not(.said-by) {{ grid-template-columns: 1fr; }} dd {{ margin-bottom: .4rem; }}
}}
@media print {{ h2 {{ break-after: avoid; }} figure, .card, .looks dd {{ break-inside: avoid; }} }}
""".strip()
