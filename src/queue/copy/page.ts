/** What a copy takes at a time: so many events, and about so many bytes of their contents. */
export const COPY_PAGE: { readonly limit: number; readonly maxBytes: number } = {
  limit: 2000,
  maxBytes: 4 << 20,
};
