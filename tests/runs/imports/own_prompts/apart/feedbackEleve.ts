import { generateObject } from "ai";
import { openai } from "@ai-sdk/openai";
import Mustache from "mustache";
import { z } from "zod";

// Évaluation des retours que le tuteur automatique donne aux élèves (FLE, niveau A2-B1)

const schema = z.object({
  bienveillance: z.number().int().min(1).max(4),
  precision: z.number().int().min(1).max(4),
  niveau: z.number().int().min(1).max(4),
  remarque: z.string(),
});

const CONSIGNE = `Tu es professeure de français langue étrangère. Un tuteur automatique a commenté la production écrite d'un élève. Évalue le commentaire du tuteur.

Production de l'élève (niveau {{niveau_eleve}}) :
{{production}}

Commentaire du tuteur :
{{commentaire}}

Trois critères, chacun noté de 1 (insuffisant) à 4 (très bien) :
- bienveillance : le commentaire encourage l'élève et commence par un point positif
- precision : les erreurs signalées en sont vraiment, et les corrections sont justes
- niveau : l'élève peut comprendre le commentaire avec son niveau de français

Réponds en JSON avec les champs bienveillance, precision, niveau et remarque.`;

export async function evaluer(niveau_eleve: string, production: string, commentaire: string) {
  const { object } = await generateObject({
    model: openai("gpt-4o"),
    schema,
    prompt: Mustache.render(CONSIGNE, { niveau_eleve, production, commentaire }),
  });
  return object;
}
