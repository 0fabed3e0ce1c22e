import { invalid } from '../../base/errors.ts';

// Writing and reading back use one walk, so that every text that can be put aside can also be restored.

/** The kind of a text inside an entry. Only pictures are put aside. */
export type Place = 'image-data' | 'image-url' | 'text';

export interface Rewriting {
  readonly text: (text: string, place: Place, key: string) => string;
  /** Returning false drops the property. `isArgument`: inside the arguments of a tool call, which are the user's. */
  readonly keeps?: (key: string, isArgument: boolean) => boolean;
  /** Sees every object in which something was changed. */
  readonly changed?: (object: Record<string, unknown>) => Record<string, unknown>;
}

/** Deeper than this, writing JSON itself runs out of stack. */
const DEPTH_MAX = 1000;

/** Changes nothing in place. A part in which nothing changes is returned as it is. */
export function rewriteStrings(value: unknown, rules: Rewriting): unknown {
  return new Walk(rules).visit(value, { key: '', depth: 0, isArgument: false, place: 'text' });
}

interface Where {
  readonly key: string;
  readonly depth: number;
  readonly isArgument: boolean;
  readonly place: Place;
}

class Walk {
  readonly #rules: Rewriting;

  constructor(rules: Rewriting) {
    this.#rules = rules;
  }

  visit(value: unknown, where: Where): unknown {
    if (typeof value === 'string') return this.#rules.text(value, where.place, where.key);
    if (typeof value !== 'object' || value === null) return value;
    if (where.depth > DEPTH_MAX) throw invalid('entry', `is nested deeper than ${DEPTH_MAX}`);
    if (!Array.isArray(value)) return this.#visitObject(value as Record<string, unknown>, where);
    // The texts of an array take their kind from the array's name, and are never image data.
    const inside = { ...where, depth: where.depth + 1, place: toListPlace(where) };
    let changed = false;
    const items = value.map((item: unknown) => {
      const next = this.visit(item, inside);
      changed ||= next !== item;
      return next;
    });
    return changed ? items : value;
  }

  #visitObject(object: Record<string, unknown>, where: Where): Record<string, unknown> {
    const { keeps, changed } = this.#rules;
    const isImage = isImageBlock(object);
    const pairs: [string, unknown][] = [];
    let differs = false;
    for (const [key, value] of Object.entries(object)) {
      if (keeps?.(key, where.isArgument) === false) {
        differs = true;
        continue;
      }
      const isArgument = where.isArgument || key === 'arguments' || key === 'input';
      const place = placeOf(key, isImage, where.key);
      const next = this.visit(value, { key, depth: where.depth + 1, isArgument, place });
      differs ||= next !== value;
      pairs.push([key, next]);
    }
    if (!differs) return object;
    // `fromEntries` keeps a property called __proto__ as an ordinary property.
    const copy = Object.fromEntries(pairs);
    return changed?.(copy) ?? copy;
  }
}

function toListPlace(where: Where): Place {
  return where.place === 'image-url' ? 'image-url' : 'text';
}

function placeOf(key: string, isImage: boolean, parentKey: string): Place {
  if (isImage && key === 'data') return 'image-data';
  return key === 'image_url' || (parentKey === 'image_url' && key === 'url') ? 'image-url' : 'text';
}

function isImageBlock({ type, mimeType, data }: Record<string, unknown>): boolean {
  if (typeof data !== 'string') return false;
  return type === 'image' || (typeof mimeType === 'string' && mimeType.startsWith('image/'));
}
