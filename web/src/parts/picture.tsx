import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { send } from '../api/http.ts';

/** Pictures that a browser shows and that carry no program. */
const SAFE_TYPES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/svg+xml',
]);

/**
 * A picture from a blob, or from a payload that holds it. The bytes become an object address of this page, so nothing is
 * loaded from elsewhere. Scripts in an SVG do not run in an `img`.
 */
export function Picture({
  mediaType,
  blob,
  base64,
}: {
  mediaType: string;
  blob?: string | undefined;
  base64?: string | undefined;
}): JSX.Element {
  const [address, setAddress] = useState<string>();
  const [trouble, setTrouble] = useState('');
  const type = SAFE_TYPES.has(mediaType) ? mediaType : 'image/png';
  useEffect(() => {
    let made: string | undefined;
    let gone = false;
    const show = (bytes: BlobPart): void => {
      if (gone) return;
      made = URL.createObjectURL(new Blob([bytes], { type }));
      setAddress(made);
    };
    const load = async (): Promise<void> => {
      if (base64 !== undefined) show(fromBase64(base64));
      else if (blob !== undefined) {
        show(await (await send('getBlob', { ref: blob }, {})).arrayBuffer());
      }
    };
    load().catch(() => setTrouble('This picture is not in the store.'));
    return () => {
      gone = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [blob, base64, type]);
  if (trouble !== '') return <p class="muted">{trouble}</p>;
  if (address === undefined) return <div class="picture skeleton" />;
  return (
    <img class="picture" src={address} alt="" onError={() => setTrouble('This is no picture.')} />
  );
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll(/\s/g, ''));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
