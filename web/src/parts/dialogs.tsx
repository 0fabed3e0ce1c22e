import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asked } from '../state/asking.ts';

/** A panel over the page. Esc, and a click beside it, close it. */
export function Dialog({
  label,
  onClose,
  children,
}: {
  label: string;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    place.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={place}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === place.current) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

/** The question that is open, if one is. */
export function AskedDialog(): JSX.Element | null {
  const question = asked.value;
  if (question === undefined) return null;
  return <QuestionForm key={question.title} question={question} />;
}

function QuestionForm({ question }: { question: NonNullable<typeof asked.value> }): JSX.Element {
  const { title, text, label, value = '', yes, answer } = question;
  const [typed, setTyped] = useState(value);
  return (
    <Dialog label={title} onClose={() => answer(undefined)}>
      <form
        class="question"
        onSubmit={(event) => {
          event.preventDefault();
          answer(typed);
        }}
      >
        <h2 class="title">{title}</h2>
        {text !== undefined && <p class="muted">{text}</p>}
        {label !== undefined && (
          <label>
            <span>{label}</span>
            <input
              class="line"
              value={typed}
              maxLength={2000}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        <div class="acts">
          <button type="submit" class="first">
            {yes}
          </button>
          <button type="button" onClick={() => answer(undefined)}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
