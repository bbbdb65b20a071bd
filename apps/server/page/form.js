// What the panels share: lists of choices, errors in words, one task at a time.

export const element = (id) => document.getElementById(id);

/** Fills a list with [value, text] pairs and keeps what was chosen. */
export function fill(select, choices) {
  const before = select.value;
  select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
  if (choices.some(([value]) => value === before)) select.value = before;
}

/** A list of models, hidden when there is nothing to choose. */
export function fillModels(select, models) {
  fill(select, models.map((m) => [m.id, m.id]));
  element(`${select.id}-box`).hidden = models.length < 2;
}

const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

export const languages = (model) => [["auto", "Automatic"], ...(model?.languages ?? []).map((l) => [l, capital(l)])];

/** Runs a task of a panel: shows its error, unless it was stopped. */
export async function attempt(panel, task) {
  const fault = element(`${panel}-error`);
  fault.textContent = "";
  try {
    await task();
  } catch (error) {
    if (error.name !== "AbortError") fault.textContent = error.message;
  }
}

export const status = (panel, text) => { element(`${panel}-status`).textContent = text; };

export const seconds = (value) => `${value.toFixed(1)} s`;
