// Bewertung der Antworten des Tarifberaters (Website-Chat Stadtwerke)
// Aufruf: node tarifberater-check.js chats.jsonl

const fs = require("fs");
const { chat } = require("./llm");

const PROMPT = `
Du prüfst Antworten unseres Tarifberaters. Kundinnen und Kunden fragen nach Strom- und Gastarifen, Abschlägen und Umzug.

Aktuelle Tarifliste:
{{TARIFE}}

Frage:
{{FRAGE}}

Antwort des Tarifberaters:
{{ANTWORT}}

Urteile so:
gut = richtige Preise, passender Tarif, Kündigungsfrist genannt, wenn danach gefragt wurde
mittel = nicht falsch, aber der Kunde muss noch einmal nachfragen
schlecht = falscher Preis, falsche Frist oder Tarif, den es nicht mehr gibt

Begründe kurz. Das letzte Wort deiner Antwort muss gut, mittel oder schlecht sein.
`.trim();

const PUNKTE = { gut: 2, mittel: 1, schlecht: 0 };

async function bewerte({ frage, antwort }, tarife) {
  const prompt = PROMPT.replace("{{TARIFE}}", tarife)
    .replace("{{FRAGE}}", frage)
    .replace("{{ANTWORT}}", antwort);
  const text = await chat(prompt, { temperature: 0 });
  const wort = text.trim().toLowerCase().replace(/[.!"„“*]+$/, "").split(/\s+/).pop();
  return PUNKTE[wort] ?? null;
}

async function main() {
  const tarife = fs.readFileSync("tarife.md", "utf8");
  const zeilen = fs.readFileSync(process.argv[2], "utf8").trim().split("\n");
  let summe = 0;
  for (const z of zeilen) {
    const p = await bewerte(JSON.parse(z), tarife);
    console.log(`${p}\t${z.slice(0, 80)}`);
    summe += p ?? 0;
  }
  console.log(`Schnitt: ${(summe / zeilen.length).toFixed(2)}`);
}

main();
