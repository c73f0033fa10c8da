export default function About() {
  const years = [1871, 1902].join(' and again since ');
  return (
    <main>
      <h1>About us</h1>
      <p>{`The shop has opened at nine since ${years}.`}</p>
    </main>
  );
}
