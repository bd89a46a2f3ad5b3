// All content is inserted as text, never as markup, because names come from users.
"use strict";

const REFRESH = 2000;
const COLOURS = { gain: "#00796b", reward: "#1e88e5", spend: "#e65100" };
const page = { policy: null, key: sessionStorage.getItem("key"), drawn: "", timer: null };
const at = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = String(text);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function showState(text, bad = false) {
  at("state").textContent = text;
  at("state").className = bad ? "bad" : "";
}

async function request(path) {
  const headers = page.key ? { Authorization: "Bearer " + page.key } : {};
  const response = await fetch(path, { headers });
  if (response.status === 401 || response.status === 403) {
    at("key-form").hidden = false;
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
  const chosen = policies.find((policy) => policy.policy === page.policy) || policies[0];
  page.policy = chosen ? chosen.policy : null;
  at("policies").replaceChildren(
    ...policies.map((policy) => {
      const button = element("button", policy.policy, { "aria-current": policy === chosen });
      button.addEventListener("click", () => {
        page.policy = policy.policy;
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
  at("numbers").replaceChildren(...figures.map(numberBox));
}

// Plotly interprets some tags in texts; a zero-width space after "<" prevents that.
const escapeText = (text) => String(text).replaceAll("<", "<\u200b").replaceAll("$", "$\u200b");

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
  const rows = activity.series.map((bucket) => {
    reward += bucket.reward;
    spend += bucket.spend;
    return { at: new Date((bucket.start + activity.seconds * 1e6) / 1000), reward, spend, gain: reward - spend };
  });
  const traces = ["gain", "reward", "spend"].map((name) => ({
    name,
    x: rows.map((row) => row.at),
    y: rows.map((row) => row[name]),
    mode: "lines",
    line: { color: COLOURS[name], width: name === "gain" ? 3 : 1.5 },
  }));
  const alarms = activity.notices.filter((notice) => notice.kind === "restart" || notice.kind === "price alarm");
  const shapes = alarms.map((alarm) => ({
    type: "line",
    x0: new Date(alarm.at / 1000),
    x1: new Date(alarm.at / 1000),
    yref: "paper",
    y0: 0,
    y1: 1,
    line: { width: 1, dash: "dot", color: alarm.kind === "restart" ? "#c62828" : "#6a1b9a" },
  }));
  const more = { shapes, yaxis: { title: { text: escapeText(policy.unit) }, automargin: true }, xaxis: { type: "date" } };
  draw("money", rows.length > 0, traces, more);
}

function draw(id, hasData, traces, more) {
  Plotly.react(id, hasData ? traces : [], layout(hasData ? more : NO_DATA), CONFIG);
}

const NO_DATA = {
  xaxis: { visible: false },
  yaxis: { visible: false },
  annotations: [{ text: "no data yet", showarrow: false, xref: "paper", yref: "paper", x: 0.5, y: 0.5 }],
};

// Long names often differ only at their end, so it is kept.
function shortened(name) {
  const maxLength = at("features").clientWidth < 420 ? 18 : 32;
  return escapeText(name.length > maxLength ? name.slice(0, maxLength - 9) + "…" + name.slice(-8) : name);
}

// Horizontal bars leave room for many features and for long names.
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
    customdata: features.map((feature) => escapeText(feature.name)),
    hovertemplate: "%{customdata}: %{x}<extra>" + name + "</extra>",
  });
  const axis = (text, color) => ({ title: { text, font: { color }, standoff: 6 }, rangemode: "tozero", nticks: 6, tickmode: "auto" });
  const more = {
    barmode: "group",
    showlegend: false,
    height: Math.max(320, 110 + 24 * features.length),
    xaxis: axis("times bought", COLOURS.reward),
    xaxis2: { ...axis("spend", COLOURS.spend), overlaying: "x", side: "top", showgrid: false },
    yaxis: { tickvals: places, ticktext: features.map((feature) => shortened(feature.name)), autorange: "reversed", automargin: true, zeroline: false, showgrid: false },
    margin: { l: 20, r: 20, t: 50, b: 50 },
  };
  const traces = [
    bars("bought", features.map((feature) => feature.bought), "x", 1),
    bars("spend", features.map((feature) => feature.spend), "x2", 2),
  ];
  at("features").style.height = more.height + "px";
  draw("features", features.some((feature) => feature.bought || feature.spend), traces, more);
}

// The same boxes as in the report of `thrifty worth`; dashboard.css has their style.
const ACTION_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const MAX_COLUMNS = 5;

function planLevels(box) {
  return 1 + Math.max(0, ...box.below.map(planLevels));
}

function percent(share) {
  return share > 0 && share < 0.001 ? "<0.1%" : number(100 * share, share < 0.1 ? 1 : 0) + "%";
}

function planFacts(box, money) {
  const facts = box.share === null ? [] : [percent(box.share) + " of cases"];
  facts.push("spent " + money(box.spent));
  if (box.gain !== null) facts.push(`gain ${money(box.gain)} per case`);
  return facts.join(", ");
}

function planAction(box, actions) {
  const line = element("p", null, { class: "plan-act" });
  if (box.action === null) {
    line.append(element("strong", "Act by the model"));
  } else {
    line.append("Action: ", element("i"), " ", element("strong", box.action));
    line.style.setProperty("--action", ACTION_COLOURS[actions.indexOf(box.action) % ACTION_COLOURS.length]);
  }
  return line;
}

function planBox(box, actions, money) {
  const item = element("li");
  item.style.setProperty("--share", String(box.share || 0));
  const content = element("div", null, { class: "plan-box " + (box.acts ? "leaf" : "split") });
  content.append(element("p", box.condition, { class: "plan-if" }));
  if (box.buy.length) content.append(element("p", `Buy ${box.buy.join(", ")} for ${money(box.price)}`));
  else if (box.compare !== null) content.append(element("p", "Compare " + box.compare));
  if (box.acts) {
    const line = planAction(box, actions);
    content.append(line);
    content.style.setProperty("--action", line.style.getPropertyValue("--action") || "var(--edge)");
  }
  if (box.share !== null) {
    const bar = element("div", null, { class: "plan-bar", "aria-hidden": "true" });
    bar.append(element("span"));
    content.append(bar);
  }
  content.append(element("p", planFacts(box, money), { class: "plan-facts" }));
  item.append(content);
  if (box.below.length) {
    const list = element("ul", null, { role: "list" });
    list.append(...box.below.map((next) => planBox(next, actions, money)));
    item.append(list);
  }
  return item;
}

function showPlan(shown, policy) {
  const { plan, status, unit } = shown;
  const money = (value) => (number(value) + " " + unit).trim();
  at("plan").hidden = plan === null;
  if (plan === null) return;
  const expected = [];
  if (typeof status.gain_expected === "number") expected.push(`Expected gain ${money(status.gain_expected)} per case`);
  if (typeof status.spend_expected === "number") expected.push(`expected spend ${money(status.spend_expected)} per case`);
  if (typeof status.fits === "number") expected.push(`fits of models so far: ${number(status.fits)}`);
  if (status.cautious) expected.push("at present the best constant action is taken instead, because the loss limit is reached");
  at("plan-note").textContent = expected.length ? expected.join("; ") + "." : "";
  const columns = planLevels(plan);
  const tree = element("ul", null, { class: columns > MAX_COLUMNS ? "plan-tree deep" : "plan-tree", role: "list" });
  tree.style.setProperty("--columns", String(columns));
  tree.append(planBox(plan, policy.actions, money));
  const figure = element("figure", null, { class: "plan", role: "group", "aria-label": "Plan as a tree" });
  figure.append(tree);
  at("plan-tree").replaceChildren(figure);
}

function statusFigures(status) {
  const { explored, budget, changes } = status;
  const figures = [];
  const add = (label, value, name) => figures.push([label, value, name]);
  if (explored) {
    add("cases explored", number(explored.cases), "explored-cases");
    add("cost of exploring", number(explored.cost), "explored-cost");
  }
  if (Array.isArray(changes)) add("alarms (changes noticed)", number(changes.length), "changes");
  if (typeof status.surplus === "number") add("gain above the best constant action", number(status.surplus), "surplus");
  if (typeof status.max_loss === "number") add("loss limit", number(status.max_loss) + (status.cautious ? ", reached" : ""), "max-loss");
  if (budget) {
    add("budget", number(budget.ceiling), "budget-ceiling");
    add("spent of the budget", number(budget.spend), "budget-spend");
    add("shadow price of the budget", number(budget.shadow_price, 4), "budget-price");
  }
  return figures;
}

function numberBox([label, value, name]) {
  const box = element("div", null, { class: "number", "data-name": name });
  box.append(element("b", value), element("span", label));
  return box;
}

function showStatus(status) {
  const figures = statusFigures(status);
  at("status").hidden = figures.length === 0;
  at("status").replaceChildren(...figures.map(numberBox));
}

// A shadow that cannot be compared gets a reason instead of a number.
function shadowRow(shadow, unit) {
  const row = element("tr", null, { "data-shadow": shadow.name });
  const money = (value) => (number(value) + " " + unit).trim();
  const traffic = shadow.traffic ? `, decides ${percent(shadow.traffic)} of cases` : "";
  const known = shadow.difference !== null;
  const why = shadow.cases === 0 ? "no case yet" : "not known in any case: give it a share of the cases (traffic)";
  row.append(
    element("td", `${shadow.name} (${shadow.kind}${traffic})`),
    element("td", known ? money(shadow.difference) : why),
    element("td", known ? `${money(shadow.low)} to ${money(shadow.high)}` : "–"),
    element("td", `${number(shadow.compared)} of ${number(shadow.cases)}`)
  );
  return row;
}

function showShadows(shown) {
  const { shadows, acting, unit } = shown;
  at("shadows").hidden = shadows.length === 0;
  const promotes = shown.promotes ? " A shadow that is better beyond doubt takes over by itself." : "";
  at("shadows-note").textContent = `${acting} acts. The intervals are valid however often you look.${promotes}`;
  at("shadow-rows").replaceChildren(...shadows.map((shadow) => shadowRow(shadow, unit)));
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

function showLists(activity, status) {
  const notices = [...activity.notices].reverse().slice(0, 50);
  const changes = [...(status.changes || [])].reverse().slice(0, 50);
  fill("notices", [
    ...changes.map((round) => element("li", `after ${number(round)} rounds: a change began`)),
    ...notices.map((notice) => element("li", `after ${number(notice.round)} rounds: ${notice.kind}${notice.feature === null ? "" : " of " + notice.feature}`)),
  ]);
  fill("open", activity.open.map(caseButton));
  fill("late", [...activity.late].reverse().map(caseButton));
}

function formatEntries(values) {
  return Object.entries(values).map(([name, value]) => `${name}: ${formatValue(value)}`).join(", ") || "–";
}

function formatValue(value) {
  if (value === null) return "–";
  if (typeof value === "number") return number(value, 4);
  if (typeof value !== "object") return String(value);
  if (!Array.isArray(value)) return formatEntries(value);
  const hasObjects = value.some((part) => part !== null && typeof part === "object");
  return value.map(formatValue).join(hasObjects ? "\n" : " & ") || "nothing";
}

function reasonRows(reasons) {
  if (reasons === null) return [["reasons", "this policy gives no reasons"]];
  return Object.entries(reasons).map(([name, value]) => [name.replaceAll("_", " "), formatValue(value)]);
}

// One row for each purchase, with its result.
function stepRows(steps) {
  return steps.map((step, k) => {
    const expected = step.expected_price === null ? "" : ` for about ${number(step.expected_price, 4)}`;
    const lines = [(step.buy.join(", ") || "nothing") + expected];
    if (Object.keys(step.values).length) lines.push("values " + formatEntries(step.values));
    if (step.unavailable.length) lines.push("unavailable: " + step.unavailable.join(", "));
    if (Object.keys(step.costs).length) lines.push("paid " + formatEntries(step.costs));
    return [steps.length > 1 ? `purchase ${k + 1}` : "purchase", lines.join("\n")];
  });
}

// Why it stopped buying, and why it took this action.
function actionReasonRows(explain, steps) {
  const stopped = explain.action_reasons === null ? [] : reasonRows(explain.action_reasons);
  const rows = stopped.map(([name, value]) => [steps.length > 0 ? "end: " + name : name, value]);
  return explain.action_why === null ? rows : [...rows, ["why this action", explain.action_why]];
}

function allReasonRows(steps) {
  return steps.flatMap((step, k) =>
    reasonRows(step.reasons).map(([name, value]) => [steps.length > 1 ? `${k + 1}: ${name}` : name, value])
  );
}

function table(rows) {
  const node = element("table");
  for (const [name, value] of rows) {
    const row = element("tr");
    row.append(element("th", name), element("td", value));
    node.append(row);
  }
  return node;
}

function rewardText(reward) {
  return `${reward.reward} (${reward.outcome === null ? "" : reward.outcome + ", "}${reward.use})`;
}

async function showCase(id) {
  at("case-id").value = id;
  try {
    const shown = await request("/v1/cases/" + encodeURIComponent(id));
    const explain = shown.explain;
    at("case-view").replaceChildren(
      table([
        ["status", shown.end === null ? shown.status : `${shown.status}: ${shown.end}`],
        ["opened", shown.opened],
        ["decided by", shown.decided_by],
        ["free values", formatEntries(shown.free)],
        ...stepRows(shown.steps),
        ["action", shown.action === null ? "–" : shown.action],
        ["rewards", shown.rewards.map(rewardText).join(", ") || "–"],
        ["outcome", shown.outcome === null ? "–" : shown.outcome],
        ["reward learnt", shown.learnt_reward === null ? "–" : number(shown.learnt_reward, 4)],
      ]),
      element("h2", "Reasons"),
      table([
        ["rounds learnt before buying", String(explain.learnt_before_buying)],
        ...allReasonRows(shown.steps),
        ...actionReasonRows(explain, shown.steps),
        ["value of each action", explain.action_values === null ? "–" : formatEntries(explain.action_values)],
      ])
    );
  } catch (error) {
    at("case-view").replaceChildren(element("p", error.message));
  }
}

async function refresh() {
  clearTimeout(page.timer);
  try {
    const policy = showPolicies(await request("/v1/policies"));
    at("key-form").hidden = true;
    at("main").hidden = !policy;
    if (policy) {
      const path = `/v1/policies/${encodeURIComponent(policy.policy)}`;
      const [activity, shown] = await Promise.all([request(path + "/activity"), request(path + "/status")]);
      showNumbers(policy);
      showLists(activity, shown.status);
      showStatus(shown.status);
      showShadows(shown);
      const state = policy.policy + policy.position;
      if (state !== page.drawn) {
        showPlan(shown, policy);
        drawMoney(activity, policy);
        drawFeatures(policy);
        page.drawn = state;
      }
      showState(`${number(policy.position)} events, ${new Date().toLocaleTimeString()}`);
    } else {
      showState("no policies");
    }
  } catch (error) {
    showState(error.message, true);
  }
  page.timer = setTimeout(refresh, REFRESH);
}

at("key-form").addEventListener("submit", (event) => {
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
