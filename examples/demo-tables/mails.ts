import type { Mail } from "../mailer/tables.ts";

const text = "Good to have you here.";

/** Two hundred that are fine, and some that have a harder time. */
export const mails: readonly Mail[] = [
  { to: "nobody@example.com", subject: "Welcome, whoever", text },
  { to: "ada@down.example", subject: "Welcome, Ada", text },
  ...["grace", "joan", "edith"].map((name) => ({
    to: `${name}@busy.example`,
    subject: `Welcome, ${name}`,
    text,
  })),
  ...Array.from({ length: 200 }, (_, index) => ({
    to: `reader-${index + 1}@example.com`,
    subject: "News of the week",
    text,
  })),
];

/** A row that another program got wrong. */
export const brokenPayload = { to: "ada" };
