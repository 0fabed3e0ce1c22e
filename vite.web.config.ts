import { fileURLToPath } from 'node:url';
import { defineConfig, type UserConfig } from 'vite';

// The page is built into the package. Its addresses are relative, so that it works below any path of a proxy.
const config: UserConfig = defineConfig({
  root: fileURLToPath(new URL('web', import.meta.url)),
  base: './',
  resolve: {
    // The virtual list is written for React.
    alias: {
      'react-dom': 'preact/compat',
      'react/jsx-runtime': 'preact/jsx-runtime',
      react: 'preact/compat',
    },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    // A picture inside a style would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      onwarn(warning, warn) {
        // The virtual list marks its module for servers that render React. There is none here.
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
  logLevel: 'warn',
});

export default config;
