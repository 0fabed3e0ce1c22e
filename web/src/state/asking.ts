import { signal } from '@preact/signals';

// A question to the person: before something is hidden, and for a name. One is open at a time.

export interface Question {
  readonly title: string;
  readonly text?: string;
  /** The label of a line to fill in. Without one, the person says yes or no. */
  readonly label?: string;
  readonly value?: string;
  readonly yes: string;
}

interface Asked extends Question {
  readonly answer: (value: string | undefined) => void;
}

export const asked = signal<Asked | undefined>(undefined);

/** The text of the line, empty without one; undefined when the person went away from the question. */
export function askPerson(question: Question): Promise<string | undefined> {
  asked.value?.answer(undefined);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (value) => {
        asked.value = undefined;
        resolve(value);
      },
    };
  });
}
