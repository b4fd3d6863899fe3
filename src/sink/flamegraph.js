// The behaviour of a flame graph: hovering tells about a frame, a click zooms to it, the box (Ctrl-F)
// searches. What flamegraph.c wrote is complete without it. Each g.f carries what it stands for:
// data-x and data-w (where it begins and what it weighs) and data-d (its depth).
"use strict";
(function () {
	const LEFT = 10, WIDTH = 1180, CHAR = 7.25;
	const svg = document.documentElement;
	const details = svg.querySelector("#details");
	const reset = svg.querySelector("#reset");
	const matched = svg.querySelector("#matched");
	const box = svg.querySelector("#search");
	const frames = Array.from(svg.querySelectorAll("g.f"), (g) => {
		const title = g.querySelector("title").textContent;
		return {
			g, title,
			name: title.replace(/ \([^()]*\)$/, ""),
			rect: g.querySelector("rect"),
			x: Number(g.dataset.x), w: Number(g.dataset.w), d: Number(g.dataset.d),
		};
	});

	function label(f, x, width) {
		const room = Math.floor((width - 6) / CHAR);
		let text = f.g.querySelector("text");
		if (room < 3) {
			if (text)
				text.textContent = "";
			return;
		}
		if (!text) {
			text = document.createElementNS("http://www.w3.org/2000/svg", "text");
			text.setAttribute("y", Number(f.rect.getAttribute("y")) + 11.5);
			f.g.appendChild(text);
		}
		const chars = Array.from(f.name);
		text.setAttribute("x", x + 3);
		text.textContent = chars.length <= room ? f.name : chars.slice(0, room - 2).join("") + "..";
	}

	function place(f, x, width) {
		f.rect.setAttribute("x", x);
		f.rect.setAttribute("width", width);
		label(f, x, width);
	}

	function zoom(to) {
		for (const f of frames) {
			const outside = f.x + f.w <= to.x || f.x >= to.x + to.w;
			const above = f.d < to.d;
			f.g.classList.toggle("hide", outside);
			f.g.classList.toggle("above", above && !outside);
			if (outside)
				continue;
			if (above)
				place(f, LEFT, WIDTH);
			else
				place(f, LEFT + (f.x - to.x) / to.w * WIDTH, f.w / to.w * WIDTH);
		}
		reset.classList.toggle("hide", to === frames[0]);
	}

	function matcher(term) {
		try {
			const re = new RegExp(term);
			return (name) => re.test(name);
		} catch (e) {
			return (name) => name.includes(term); // not a regular expression: then these letters
		}
	}

	// How much weight is below matching frames; a match inside a match counts once.
	function covered(hits) {
		let sum = 0, end = -1;
		hits.sort((a, b) => a.x - b.x || b.w - a.w);
		for (const f of hits) {
			const from = Math.max(f.x, end);
			if (f.x + f.w > from) {
				sum += f.x + f.w - from;
				end = f.x + f.w;
			}
		}
		return sum;
	}

	function search(term) {
		const fits = term ? matcher(term) : () => false;
		const hits = frames.filter((f) => f.d > 0 && fits(f.name));
		for (const f of frames)
			f.g.classList.remove("hit");
		for (const f of hits)
			f.g.classList.add("hit");
		matched.textContent = term ?
			"matched " + (100 * covered(hits) / frames[0].w).toFixed(2) + "%" : "";
	}

	if (!frames.length)
		return;
	for (const f of frames) {
		f.g.addEventListener("mouseenter", () => { details.textContent = f.title; });
		f.g.addEventListener("mouseleave", () => { details.textContent = ""; });
		f.g.addEventListener("click", () => zoom(f));
	}
	reset.addEventListener("click", () => zoom(frames[0]));
	box.addEventListener("input", () => search(box.value));
	window.addEventListener("keydown", (e) => {
		if ((e.ctrlKey || e.metaKey) && e.key === "f") {
			e.preventDefault();
			box.focus();
			box.select();
		} else if (e.key === "Escape") {
			box.value = "";
			search("");
			zoom(frames[0]);
		}
	});
})();
