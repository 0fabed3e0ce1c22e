import { render } from 'preact';
import { takeToken } from './api/http.ts';
import { App } from './app.tsx';
import { start, theme } from './state/app.ts';
import { listenForKeys } from './state/keys.ts';
import './look.css';

listenForKeys(() => {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  const shown = theme.value === 'system' ? (isDark ? 'dark' : 'light') : theme.value;
  theme.value = shown === 'dark' ? 'light' : 'dark';
});
// Views ask as soon as they are drawn.
void takeToken().then(() => {
  void start();
  const place = document.querySelector('#app');
  if (place !== null) render(<App />, place);
});
