import { defineAsyncComponent } from 'vue';
import DefaultTheme from 'vitepress/theme';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    // Diagrams take a large library. Only pages that have one load it.
    const MermaidDiagram = defineAsyncComponent(() => import('./mermaid-diagram.vue'));
    app.component('MermaidDiagram', MermaidDiagram);
  },
};
