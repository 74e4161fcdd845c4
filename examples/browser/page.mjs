/* page: a recommender of a few articles that learns privately from clicks. The browser chooses the article, with a policy that
 * it has verified; your answer stays here, and noise is added to it before anything is sent. docs/browser.md explains it. */
import { Client } from "./faro/faro.mjs";

/* Features of an article: science, sport and culture, of length 0.8, and the constant 0.6; together of length 1. */
const half = 0.8 * Math.SQRT1_2;
const articles = [
  { topic: "Science", title: "A moon that hums", teaser: "Instruments left behind still hear it ring.", features: [0.8, 0, 0, 0.6] },
  { topic: "Sport", title: "The goalkeeper who counts", teaser: "She writes down every shot, and where it came from.", features: [0, 0.8, 0, 0.6] },
  { topic: "Culture", title: "Songs from a lighthouse", teaser: "Forty years of evenings, on tape.", features: [0, 0, 0.8, 0.6] },
  { topic: "Science of sport", title: "Why curve balls curve", teaser: "The seam does more than the spin.", features: [half, half, 0, 0.6] },
  { topic: "Science and art", title: "Blue, and where it comes from", teaser: "A pigment with a passport.", features: [half, 0, half, 0.6] },
  { topic: "Sport and art", title: "The last painter of cycling", teaser: "Three weeks in July, on canvas.", features: [0, half, half, 0.6] },
];

const element = (id) => document.getElementById(id);
const say = (text, failed = false) => {
  element("status").textContent = text;
  element("status").className = failed ? "failed" : "soft";
};

/* A real site gives the token to an account, after a login: a person with two tokens counts as two people. */
async function ownToken() {
  const kept = localStorage.getItem("token");
  if (kept) return kept;
  return navigator.locks.request("token", async () => {
    if (!localStorage.getItem("token")) localStorage.setItem("token", await (await fetch("token", { method: "POST" })).text());
    return localStorage.getItem("token");
  });
}

function showPromise(client) {
  const { epsilon, delta, level, contributions } = client.claim;
  const factor = Math.exp(epsilon);
  element("promise").textContent =
    `Whatever somebody guesses about you from what is published, your answers make that guess at most ` +
    `${factor < 100 ? factor.toFixed(1) : Math.round(factor).toLocaleString("en")} times as likely, except in one of ` +
    `${Math.round(1 / delta).toLocaleString("en")} cases. ` +
    (level === "user" ? `This covers all of your answers together, ${contributions} at most.` : `This covers each answer by itself.`) +
    (factor > 20 ? " That is a weak promise: an example has few people to hide among." : "");
  const facts = {
    claim: `epsilon ${epsilon}, delta ${delta}, level ${level}, proven, computed again by your browser`,
    trust: `the shuffler at ${client.shufflers.map(({ url }) => url).join(", ")}, which must not collude with the analyzer`,
    crowd: `${client.batch} people in a batch, of whom ${Math.floor(client.honest * client.batch)} must be honest`,
    policy: `version ${client.version}`,
    you: `${client.counts.delivered} of ${contributions} answers sent, ${client.counts.waiting} waiting`,
  };
  element("facts").replaceChildren(
    ...Object.entries(facts).flatMap(([name, text]) => {
      const [term, fact] = [document.createElement("dt"), document.createElement("dd")];
      [term.textContent, fact.textContent, fact.id] = [name, text, name];
      return [term, fact];
    }),
  );
}

/* A report of counts: 72 bytes of head, then 4 bytes for each number (docs/protocol.md). */
function showSent({ url, bytes }) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const counts = Array.from({ length: (bytes.length - 72) / 4 }, (_, i) => view.getUint32(72 + 4 * i, true));
  element("left").textContent =
    `${bytes.length} bytes to ${new URL(url).host}: your token, policy ${view.getBigUint64(20, true)}, your report number ` +
    `${view.getBigUint64(28, true)}, and ${counts.length} counts. In each, a number about your answer is hidden under the heads of ` +
    `many coin flips. The shuffler adds them to those of others, and passes on the sum alone.`;
  element("bytes").textContent = counts.map((count) => count.toLocaleString("en")).join("  ");
}

/* The article that is on the page stays there over a reload, until it is answered: its choice is kept under an id. */
async function recommend(client) {
  let shown = JSON.parse(sessionStorage.getItem("shown") ?? "null");
  if (!shown) {
    const id = crypto.randomUUID();
    const { arm } = await client.choose(articles.map(({ features }) => features), { id });
    shown = { id, arm };
    sessionStorage.setItem("shown", JSON.stringify(shown));
  }
  const { topic, title, teaser } = articles[shown.arm];
  [element("topic").textContent, element("title").textContent, element("teaser").textContent] = [topic, title, teaser];
  document.querySelectorAll("button").forEach((button) => (button.disabled = false));
  showPromise(client);
  return shown.id;
}

/* Every article is answered, one way or the other: a report only after a click would tell that there was one. */
async function answer(client, id, reward) {
  document.querySelectorAll("button").forEach((button) => (button.disabled = true));
  await client.reward(id, reward);
  sessionStorage.removeItem("shown");
  say("Your answer is kept in this browser.");
}

async function deliver(client) {
  const before = client.counts.delivered;
  const { waiting, delivered } = await client.flush();
  if (delivered > before) say("Thank you. A report with noise has arrived at the shuffler.");
  if (waiting > 0)
    say(`${waiting} ${waiting === 1 ? "answer waits" : "answers wait"} here for the next policy: each person is in a batch once.`);
  showPromise(client);
}

async function start() {
  const { analyzer, key, shufflers, epsilon } = await (await fetch("settings.json")).json();
  const client = await Client.open({ analyzer, key, shufflers, epsilon, token: await ownToken(), automatic: false, onSend: showSent });
  window.client = client; // to look at from the console
  let id = await recommend(client);
  for (const [button, reward] of [["read", 1], ["skip", 0]])
    element(button).addEventListener("click", async () => {
      try {
        await answer(client, id, reward);
        id = await recommend(client);
        await deliver(client);
      } catch (error) {
        say(error.message, true);
      }
    });
  await deliver(client);
}

start().catch((error) => say(error.message, true));
