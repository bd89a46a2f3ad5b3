// Everything shown is put in as text, never as markup: names come from users.
"use strict";

const REFRESH = 2000;
const COLOURS = { gain: "#00796b", reward: "#1e88e5", spend: "#e65100" };
const page = { policy: null, key: sessionStorage.getItem("key"), drawn: "", timer: null };
const at = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = String(text);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function say(text, bad = false) {
  at("state").textContent = text;
  at("state").className = bad ? "bad" : "";
}

async function ask(path) {
  const headers = page.key ? { Authorization: "Bearer " + page.key } : {};
  const response = await fetch(path, { headers });
  if (response.status === 401 || response.status === 403) {
    at("ask").hidden = false;
    at("main").hidden = true;
  }
  const content = await response.json();
  if (!response.ok) throw new Error(content.message);
  return content;
}

function number(value, digits = 2) {
  return Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

function showPolicies(policies) {
  const chosen = policies.find((it) => it.policy === page.policy) || policies[0];
  page.policy = chosen ? chosen.policy : null;
  at("policies").replaceChildren(
    ...policies.map((it) => {
      const button = element("button", it.policy, { "aria-current": it === chosen });
      button.addEventListener("click", () => {
        page.policy = it.policy;
        page.drawn = "";
        at("case-id").value = "";
        at("case-view").replaceChildren();
        refresh();
      });
      return button;
    })
  );
  return chosen;
}

function showNumbers(policy) {
  const noticed = policy.noticed;
  const figures = [
    [policy.unit ? "gain, " + policy.unit : "gain", number(policy.gain), "gain"],
    ["reward", number(policy.reward), "reward"],
    ["spend", number(policy.spend), "spend"],
    ["decisions", number(policy.counts.acted || 0), "acted"],
    ["rounds learnt", number(policy.learnt), "learnt"],
    ["open cases", number(policy.open), "open-count"],
    ["late rewards", number((policy.counts["rewarded late"] || 0) + (policy.counts["rewarded late-learnt"] || 0)), "late-count"],
    ["restarts", number(noticed.restart || 0), "restarts"],
    ["price alarms", number(noticed["price alarm"] || 0), "alarms"],
    ["set in use", policy.set_in_use === null ? "–" : policy.set_in_use.join(", ") || "nothing", "set"],
  ];
  at("numbers").replaceChildren(
    ...figures.map(([label, value, name]) => {
      const box = element("div", null, { class: "number", "data-name": name });
      box.append(element("b", value), element("span", label));
      return box;
    })
  );
}

// plotly reads a few tags in its texts: a zero-width space after "<" leaves them as they were typed.
const plain = (text) => String(text).replaceAll("<", "<\u200b").replaceAll("$", "$\u200b");

function layout(more) {
  const ink = getComputedStyle(document.body).color;
  return {
    margin: { l: 60, r: 20, t: 10, b: 60 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, family: "system-ui, sans-serif" },
    legend: { orientation: "h", y: 1.12 },
    ...more,
  };
}

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };

function drawMoney(activity, policy) {
  let reward = 0;
  let spend = 0;
  const rows = activity.series.map((it) => {
    reward += it.reward;
    spend += it.spend;
    return { at: new Date((it.start + activity.seconds * 1e6) / 1000), reward, spend, gain: reward - spend };
  });
  const traces = ["gain", "reward", "spend"].map((name) => ({
    name,
    x: rows.map((it) => it.at),
    y: rows.map((it) => it[name]),
    mode: "lines",
    line: { color: COLOURS[name], width: name === "gain" ? 3 : 1.5 },
  }));
  const alarms = activity.notices.filter((it) => it.kind === "restart" || it.kind === "price alarm");
  const shapes = alarms.map((it) => ({
    type: "line",
    x0: new Date(it.at / 1000),
    x1: new Date(it.at / 1000),
    yref: "paper",
    y0: 0,
    y1: 1,
    line: { width: 1, dash: "dot", color: it.kind === "restart" ? "#c62828" : "#6a1b9a" },
  }));
  const more = { shapes, yaxis: { title: { text: plain(policy.unit) }, automargin: true }, xaxis: { type: "date" } };
  draw("money", rows.length > 0, traces, more);
}

function draw(id, something, traces, more) {
  Plotly.react(id, something ? traces : [], layout(something ? more : NOTHING_YET), CONFIG);
}

const NOTHING_YET = {
  xaxis: { visible: false },
  yaxis: { visible: false },
  annotations: [{ text: "nothing yet", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }],
};

// What tells long names apart is often at their end.
function shortened(name) {
  const most = at("features").clientWidth < 420 ? 18 : 32;
  return plain(name.length > most ? name.slice(0, most - 9) + "…" + name.slice(-8) : name);
}

// Bars lie, so that there is room for many features and for long names.
function drawFeatures(policy) {
  const { features } = policy;
  const places = features.map((_, i) => i);
  const bars = (name, values, axis, group) => ({
    name,
    type: "bar",
    orientation: "h",
    x: values,
    y: places,
    xaxis: axis,
    offsetgroup: group,
    marker: { color: name === "spend" ? COLOURS.spend : COLOURS.reward },
    customdata: features.map((it) => plain(it.name)),
    hovertemplate: "%{customdata}: %{x}<extra>" + name + "</extra>",
  });
  const axis = (text, color) => ({ title: { text, font: { color }, standoff: 6 }, rangemode: "tozero", nticks: 6, tickmode: "auto" });
  const more = {
    barmode: "group",
    showlegend: false,
    height: Math.max(320, 110 + 24 * features.length),
    xaxis: axis("times bought", COLOURS.reward),
    xaxis2: { ...axis("spend", COLOURS.spend), overlaying: "x", side: "top", showgrid: false },
    yaxis: { tickvals: places, ticktext: features.map((it) => shortened(it.name)), autorange: "reversed", automargin: true, zeroline: false, showgrid: false },
    margin: { l: 20, r: 20, t: 50, b: 50 },
  };
  const traces = [
    bars("bought", features.map((it) => it.bought), "x", 1),
    bars("spend", features.map((it) => it.spend), "x2", 2),
  ];
  at("features").style.height = more.height + "px";
  draw("features", features.some((it) => it.bought || it.spend), traces, more);
}

function caseButton(id) {
  const item = element("li");
  const button = element("button", id);
  button.addEventListener("click", () => showCase(id));
  item.append(button);
  return item;
}

function fill(id, items) {
  at(id).replaceChildren(...(items.length ? items : [element("li", "none", { class: "none" })]));
}

function showLists(activity) {
  const noticed = [...activity.notices].reverse().slice(0, 50);
  fill(
    "notices",
    noticed.map((it) => element("li", `after ${number(it.round)} rounds: ${it.kind}${it.feature === null ? "" : " of " + it.feature}`))
  );
  fill("open", activity.open.map(caseButton));
  fill("late", [...activity.late].reverse().map(caseButton));
}

function listed(values) {
  return Object.entries(values).map(([name, it]) => `${name}: ${inWords(it)}`).join(", ") || "–";
}

function inWords(value) {
  if (value === null) return "–";
  if (typeof value === "number") return number(value, 4);
  if (typeof value !== "object") return String(value);
  if (!Array.isArray(value)) return listed(value);
  const things = value.some((it) => it !== null && typeof it === "object");
  return value.map(inWords).join(things ? "\n" : " & ") || "nothing";
}

function reasonRows(reasons) {
  if (reasons === null) return [["reasons", "the policy gives none"]];
  return Object.entries(reasons).map(([name, it]) => [name.replaceAll("_", " "), inWords(it)]);
}

// What was asked for and what came of it: one row for each purchase.
function stepRows(steps) {
  return steps.map((step, k) => {
    const expected = step.expected_price === null ? "" : ` for about ${number(step.expected_price, 4)}`;
    const lines = [(step.buy.join(", ") || "nothing") + expected];
    if (Object.keys(step.values).length) lines.push("had " + listed(step.values));
    if (step.unavailable.length) lines.push("could not be had: " + step.unavailable.join(", "));
    if (Object.keys(step.costs).length) lines.push("paid " + listed(step.costs));
    return [steps.length > 1 ? `purchase ${k + 1}` : "purchase", lines.join("\n")];
  });
}

function whyRows(steps) {
  return steps.flatMap((step, k) =>
    reasonRows(step.reasons).map(([name, it]) => [steps.length > 1 ? `${k + 1}: ${name}` : name, it])
  );
}

function table(rows) {
  const made = element("table");
  for (const [name, value] of rows) {
    const row = element("tr");
    row.append(element("th", name), element("td", value));
    made.append(row);
  }
  return made;
}

function rewardText(one) {
  return `${one.reward} (${one.outcome === null ? "" : one.outcome + ", "}${one.use})`;
}

async function showCase(id) {
  at("case-id").value = id;
  try {
    const it = await ask("/v1/cases/" + encodeURIComponent(id));
    const explain = it.explain;
    at("case-view").replaceChildren(
      table([
        ["status", it.end === null ? it.status : `${it.status}: ${it.end}`],
        ["opened", it.opened],
        ["known for free", listed(it.free)],
        ...stepRows(it.steps),
        ["action", it.action === null ? "–" : it.action],
        ["rewards", it.rewards.map(rewardText).join(", ") || "–"],
        ["outcome", it.outcome === null ? "–" : it.outcome],
        ["reward learnt", it.learnt_reward === null ? "–" : number(it.learnt_reward, 4)],
      ]),
      element("h2", "Why"),
      table([
        ["rounds learnt before buying", String(explain.learnt_before_buying)],
        ...whyRows(it.steps),
        ["value of each action", explain.action_values === null ? "–" : listed(explain.action_values)],
      ])
    );
  } catch (error) {
    at("case-view").replaceChildren(element("p", error.message));
  }
}

async function refresh() {
  clearTimeout(page.timer);
  try {
    const policy = showPolicies(await ask("/v1/policies"));
    at("ask").hidden = true;
    at("main").hidden = !policy;
    if (policy) {
      const activity = await ask(`/v1/policies/${encodeURIComponent(policy.policy)}/activity`);
      showNumbers(policy);
      showLists(activity);
      const state = policy.policy + policy.position;
      if (state !== page.drawn) {
        drawMoney(activity, policy);
        drawFeatures(policy);
        page.drawn = state;
      }
      say(`${number(policy.position)} events, ${new Date().toLocaleTimeString()}`);
    } else {
      say("no policies");
    }
  } catch (error) {
    say(error.message, true);
  }
  page.timer = setTimeout(refresh, REFRESH);
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  page.key = at("key").value;
  sessionStorage.setItem("key", page.key);
  refresh();
});
at("find").addEventListener("submit", (event) => {
  event.preventDefault();
  showCase(at("case-id").value.trim());
});
refresh();
