import type { Upcaster } from '../chat/events/read-line.ts';
import type { Chats } from '../chat/handle/chats.ts';

/** Chats whose modules are loaded by the first call: most processes never make one. */
export function lazyChats(load: (upcasters: readonly Upcaster[]) => Promise<Chats>): Chats {
  return lazily([]);

  function lazily(upcasters: readonly Upcaster[]): Chats {
    let loaded: Promise<Chats> | undefined;
    const chats = (): Promise<Chats> => (loaded ??= load(upcasters));
    return {
      create: async (...given) => (await chats()).create(...given),
      open: async (...given) => (await chats()).open(...given),
      list: async (...given) => (await chats()).list(...given),
      remove: async (...given) => (await chats()).remove(...given),
      import: async (...given) => (await chats()).import(...given),
      retain: async (...given) => (await chats()).retain(...given),
      upcasting: lazily,
    };
  }
}
