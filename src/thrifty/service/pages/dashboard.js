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
    ["gain, " + policy.unit, number(policy.gain), "gain"],
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
  const title = { text: plain(policy.unit) };
  Plotly.react("money", traces, layout({ shapes, yaxis: { title }, xaxis: { type: "date" } }), CONFIG);
}

function drawFeatures(policy) {
  const names = policy.features.map((it) => plain(it.name));
  const traces = [
    { name: "bought", type: "bar", offsetgroup: 1, x: names, y: policy.features.map((it) => it.bought), marker: { color: COLOURS.reward } },
    { name: "spend", type: "bar", x: names, y: policy.features.map((it) => it.spend), yaxis: "y2", offsetgroup: 2, marker: { color: COLOURS.spend } },
  ];
  const more = {
    barmode: "group",
    xaxis: { type: "category" },
    yaxis: { title: { text: "times bought" }, rangemode: "tozero" },
    yaxis2: { title: { text: "spend" }, overlaying: "y", side: "right", rangemode: "tozero", showgrid: false },
    margin: { l: 60, r: 60, t: 10, b: 60 },
  };
  Plotly.react("features", traces, layout(more), CONFIG);
}

function caseButton(id) {
  const item = element("li");
  const button = element("button", id);
  button.addEventListener("click", () => showCase(id));
  item.append(button);
  return item;
}

function showLists(activity) {
  const noticed = [...activity.notices].reverse().slice(0, 50);
  at("notices").replaceChildren(
    ...noticed.map((it) => element("li", `after ${number(it.round)} rounds: ${it.kind}${it.feature === null ? "" : " of " + it.feature}`))
  );
  at("open").replaceChildren(...activity.open.map(caseButton));
  at("late").replaceChildren(...[...activity.late].reverse().map(caseButton));
}

function table(rows) {
  const made = element("table");
  for (const [name, value] of rows) {
    const row = element("tr");
    row.append(element("th", name), element("td", typeof value === "string" ? value : JSON.stringify(value)));
    made.append(row);
  }
  return made;
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
        ["known for free", it.free],
        ["to buy", it.buy.join(", ") || "nothing"],
        ["bought", it.values],
        ["costs", it.costs],
        ["not available", it.unavailable.join(", ") || "–"],
        ["action", it.action === null ? "–" : it.action],
        ["rewards", it.rewards.map((one) => `${one.reward} (${one.use})`).join(", ") || "–"],
      ]),
      element("h2", "Why"),
      table([
        ["rounds learnt before buying", String(explain.learnt_before_buying)],
        ["reasons", explain.reasons === null ? "the policy gives none" : explain.reasons],
        ["value of each action", explain.action_values === null ? "–" : explain.action_values],
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
