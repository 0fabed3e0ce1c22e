// Service files that make a machine start the daemon and wake the consumers of threads when its user logs in, or when
// it starts.

export interface StartUnit {
  readonly home: string;
  readonly programs: { readonly node: string; readonly notifier: string; readonly thread: string };
}

/** For systemd. The unit stays active with the processes it started: handlers are not killed with it. */
export function toSystemdUnit({ home, programs: { node, notifier, thread } }: StartUnit): string {
  const line = (...words: readonly string[]): string => words.map(quoteForSystemd).join(' ');
  return `[Unit]
Description=Wakes the consumers of threads and runs what notifier was asked to run

[Service]
Type=oneshot
RemainAfterExit=yes
KillMode=process
Environment=${quoteForSystemd(`NOTIFIER_HOME=${home}`)}
ExecStart=${line(node, notifier, 'start')}
ExecStart=${line(node, thread, 'dispatch', '--all')}

[Install]
WantedBy=default.target
`;
}

/** For launchd, on macOS. */
export function toLaunchAgent({ home, programs: { node, notifier, thread } }: StartUnit): string {
  const script =
    'NOTIFIER_HOME="$0"; export NOTIFIER_HOME; "$1" "$2" start; "$1" "$3" dispatch --all';
  const words = ['/bin/sh', '-c', script, home, node, notifier, thread];
  const items = words.map((word) => `    <string>${escapeXml(word)}</string>\n`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>quipu-notifier</string>
  <key>ProgramArguments</key>
  <array>
${items}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}

/** Quotes a text as one word, without the meanings that `%` and `$` have in a unit file. */
function quoteForSystemd(word: string): string {
  const escaped = word
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$');
  return `"${escaped}"`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
